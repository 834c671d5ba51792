//! Rows of ids on their way to C.

use std::ptr;

use crate::error::{count, Error, Result};
use vkformer_sys as sys;

/// Rows of ids, filled up to the longest.
pub(crate) struct Padded {
    pub(crate) ids: Vec<i32>,
    lengths: Vec<u32>,
    pub(crate) batch: u32,
    pub(crate) len: u32,
}

impl Padded {
    pub(crate) fn new<R: AsRef<[i32]>>(rows: &[R], pad: i32) -> Result<Padded> {
        let lens = || rows.iter().map(|row| row.as_ref().len());
        let longest = lens().max().unwrap_or(0);
        if longest == 0 || lens().any(|len| len == 0) {
            return Err(Error::argument("there is at least one row of ids, and each has at least one"));
        }
        let (batch, len) = (count("rows", rows.len())?, count("ids", longest)?);
        let mut ids = Vec::with_capacity(rows.len() * longest);
        for row in rows {
            ids.extend_from_slice(row.as_ref());
            ids.resize(ids.len() + longest - row.as_ref().len(), pad);
        }
        let lengths = lens().map(|len| len as u32).collect();
        Ok(Padded { ids, lengths, batch, len })
    }
}

/// The arrays of an encoder's run.
pub(crate) struct Source {
    ids: Padded,
    types: Option<Vec<i32>>,
}

impl Source {
    /// `types` is empty, or has one for each id.
    pub(crate) fn new<R: AsRef<[i32]>>(rows: &[R], types: &[R], pad: i32) -> Result<Source> {
        let ids = Padded::new(rows, pad)?;
        let same = types.len() == rows.len()
            && rows.iter().zip(types).all(|(row, types)| row.as_ref().len() == types.as_ref().len());
        if !types.is_empty() && !same {
            return Err(Error::argument("encode: there is one type for each id of every row, or none at all"));
        }
        let types = if types.is_empty() { None } else { Some(Padded::new(types, 0)?.ids) };
        Ok(Source { ids, types })
    }

    /// It points into the arrays.
    pub(crate) fn raw(&self) -> sys::vkf_encode_args {
        sys::vkf_encode_args {
            batch: self.ids.batch,
            source_len: self.ids.len,
            source_ids: self.ids.ids.as_ptr(),
            source_lengths: self.ids.lengths.as_ptr(),
            source_types: self.types.as_ref().map_or(ptr::null(), |types| types.as_ptr()),
            ..Default::default()
        }
    }
}

/// Rows of new ids for a decoder's cache.
pub(crate) struct Prompts {
    ids: Vec<i32>,
    counts: Vec<u32>,
    batch: u32,
}

impl Prompts {
    pub(crate) fn new<R: AsRef<[i32]>>(rows: &[R]) -> Result<Prompts> {
        Ok(Prompts {
            ids: rows.iter().flat_map(|row| row.as_ref()).copied().collect(),
            counts: rows.iter().map(|row| count("ids", row.as_ref().len())).collect::<Result<_>>()?,
            batch: count("rows", rows.len())?,
        })
    }

    /// It points into the arrays.
    pub(crate) fn raw(&self) -> sys::vkf_prefill_args {
        let (ids, counts) = (self.ids.as_ptr(), self.counts.as_ptr());
        sys::vkf_prefill_args { batch: self.batch, ids, counts, ..Default::default() }
    }
}

/// The ids of a step, -1 for none.
pub(crate) struct Step(Vec<i32>, u32);

impl Step {
    pub(crate) fn new(ids: &[Option<i32>]) -> Result<Step> {
        if let Some(id) = ids.iter().flatten().find(|id| **id < 0) {
            return Err(Error::argument(format!("step: {} is no id; None leaves a row as it is", id)));
        }
        Ok(Step(ids.iter().map(|id| id.unwrap_or(-1)).collect(), count("rows", ids.len())?))
    }

    pub(crate) fn rows(&self) -> usize {
        self.0.len()
    }

    /// It points into the array.
    pub(crate) fn raw(&self) -> sys::vkf_step_args {
        sys::vkf_step_args { batch: self.1, ids: self.0.as_ptr(), ..Default::default() }
    }
}
