//! Keeping the head and the tail of an endless output in bounded memory.

use std::collections::VecDeque;

use super::Output;

/// Takes output as it comes; holds at most the number of bytes it was made for.
#[derive(Debug)]
pub(crate) struct Kept {
    head: Vec<u8>,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_room: usize,
    total: u64,
}

impl Kept {
    pub(crate) fn new(keep: usize) -> Self {
        let head_room = keep.div_ceil(2);
        Self { head: Vec::new(), head_room, tail: VecDeque::new(), tail_room: keep - head_room, total: 0 }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (to_head, rest) = bytes.split_at(bytes.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(to_head);
        // Only the last bytes of a piece can stay, so no more than the room is ever copied.
        let rest = &rest[rest.len().saturating_sub(self.tail_room)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Output {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        let cut = self.total - head.len() as u64 - tail.len() as u64;
        if cut > 0 {
            return Output { head, tail, cut };
        }
        head.extend(tail);
        Output { head, tail: Vec::new(), cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keep: usize, pieces: &[&[u8]]) -> Output {
        let mut kept = Kept::new(keep);
        pieces.iter().for_each(|piece| kept.take(piece));
        kept.finish()
    }

    fn output(head: &[u8], tail: &[u8], cut: u64) -> Output {
        Output { head: head.to_vec(), tail: tail.to_vec(), cut }
    }

    #[test]
    fn what_fits_is_kept_whole_in_the_head() {
        assert_eq!(kept(10, &[b"abcdef", b"ghij"]), output(b"abcdefghij", b"", 0));
        assert_eq!(kept(10, &[]), output(b"", b"", 0));
    }

    #[test]
    fn what_does_not_fit_loses_its_middle_and_says_how_much() {
        assert_eq!(kept(4, &[b"abcdef", b"g"]), output(b"ab", b"fg", 3));
        assert_eq!(kept(5, &[b"a", b"b", b"cdefghijkl", b"m"]), output(b"abc", b"lm", 8));
    }

    #[test]
    fn nothing_is_kept_if_nothing_may_be() {
        assert_eq!(kept(0, &[b"abc", b"d"]), output(b"", b"", 4));
        assert_eq!(kept(1, &[b"abc", b"d"]), output(b"a", b"", 3));
    }

    #[test]
    fn the_pieces_in_which_output_came_do_not_matter() {
        let whole: Vec<u8> = (0..=255).collect();
        let at_once = kept(100, &[&whole]);
        for size in 1..60 {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(kept(100, &pieces), at_once, "in pieces of {size}");
        }
    }
}
