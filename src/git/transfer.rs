//! Bringing objects from one repository to another as one pack: only what is asked for. The trees were measured before.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use git2::{Oid, PackBuilder, Repository};

use super::Error;
use super::tree::{self, Entry, Kind};

/// Collects objects of one repository.
pub(super) struct Transfer<'a> {
    from: &'a Repository,
    pack: PackBuilder<'a>,
    chosen: HashSet<Oid>,
}

/// Whether the other side has an object with everything below it.
pub(super) type IsThere<'a> = &'a dyn Fn(Oid) -> bool;

impl<'a> Transfer<'a> {
    pub(super) fn new(from: &'a Repository) -> Result<Self, Error> {
        let mut pack = from.packbuilder()?;
        // As many as there are processors.
        pack.set_threads(0);
        Ok(Self { from, pack, chosen: HashSet::new() })
    }

    /// Adds the commit without its tree and without its parents.
    pub(super) fn commit(&mut self, id: Oid) -> Result<(), Error> {
        self.add(id)
    }

    /// Adds the tree and what is below it, but nothing that stands at the same place in the tree `beside`, and nothing
    /// that is there already.
    pub(super) fn tree(&mut self, id: Oid, beside: Option<Oid>, is_there: IsThere<'_>) -> Result<(), Error> {
        if Some(id) == beside || self.chosen.contains(&id) || is_there(id) {
            return Ok(());
        }
        let known = beside.map(|tree| tree::entries(self.from, tree)).transpose()?.unwrap_or_default();
        let known: HashMap<&[u8], &Entry> = known.iter().map(|k| (&k.name[..], k)).collect();
        for entry in tree::entries(self.from, id)? {
            let same = known.get(&entry.name[..]);
            match entry.kind() {
                Some(Kind::Submodule) => {}
                Some(Kind::Directory) => {
                    let same = same.filter(|k| k.is_directory()).map(|k| k.id);
                    self.tree(entry.id, same, is_there)?;
                }
                _ if same.is_some_and(|k| k.id == entry.id) || is_there(entry.id) => {}
                _ => self.add(entry.id)?,
            }
        }
        self.add(id)
    }

    fn add(&mut self, id: Oid) -> Result<(), Error> {
        if self.chosen.insert(id) {
            self.pack.insert_object(id, None)?;
        }
        Ok(())
    }

    /// What was collected, as one pack.
    pub(super) fn bytes(mut self) -> Result<Vec<u8>, Error> {
        let mut buffer = git2::Buf::new();
        self.pack.write_buf(&mut buffer)?;
        Ok(buffer.to_vec())
    }

    /// Writes what was collected to the other repository, all of it or nothing.
    pub(super) fn finish(mut self, to: &Repository) -> Result<(), Error> {
        if self.chosen.is_empty() {
            return Ok(());
        }
        let odb = to.odb()?;
        let mut writer = odb.packwriter()?;
        let mut failed = None;
        let sent = self.pack.foreach(|bytes| match writer.write_all(bytes) {
            Ok(()) => true,
            Err(e) => {
                failed = Some(e);
                false
            }
        });
        match failed {
            Some(source) => return Err(Error::Io { doing: "write objects", source }),
            None => sent?,
        }
        writer.commit()?;
        Ok(())
    }
}
