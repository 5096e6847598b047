use bill::split;

const BILLS: [(u64, usize); 5] = [(100, 3), (104, 5), (2, 3), (0, 2), (99, 1)];

#[test]
fn what_divides_evenly_is_split_evenly() {
    assert_eq!(split(900, 3), [300, 300, 300]);
}

#[test]
fn no_share_is_more_than_a_cent_above_another() {
    for (cents, people) in BILLS {
        let shares = split(cents, people);
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(
            most - least <= 1,
            "{cents} cents among {people}: {shares:?}"
        );
    }
}

#[test]
fn no_cent_is_lost() {
    for (cents, people) in BILLS {
        assert_eq!(
            split(cents, people).iter().sum::<u64>(),
            cents,
            "among {people}"
        );
    }
}
