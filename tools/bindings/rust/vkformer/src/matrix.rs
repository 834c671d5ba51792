//! Rows of numbers that the library gave.

/// Rows of as many numbers each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    values: Vec<f32>,
    dim: usize,
}

impl Matrix {
    /// `values` has whole rows of `dim` numbers.
    pub(crate) fn new(values: Vec<f32>, dim: usize) -> Matrix {
        Matrix { values, dim }
    }

    /// The numbers of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.dim).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> + '_ {
        self.values.chunks_exact(self.dim.max(1))
    }

    pub fn get(&self, row: usize) -> Option<&[f32]> {
        self.iter().nth(row)
    }

    /// All rows, one behind the other.
    pub fn into_vec(self) -> Vec<f32> {
        self.values
    }
}
