//! How wide a figure is drawn.

/// The sheet a figure is drawn on. Text keeps its size, so a figure for a phone is drawn anew instead of shrunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sheet {
    /// 960 px: files, slides, laptops.
    #[default]
    Wide,
    /// 420 px: phones.
    Narrow,
}

impl Sheet {
    /// Width in pixels.
    pub const fn width(self) -> f64 {
        match self {
            Self::Wide => 960.0,
            Self::Narrow => 420.0,
        }
    }

    /// Most lines of a title.
    pub(super) const fn title_lines(self) -> usize {
        match self {
            Self::Wide => 4,
            Self::Narrow => 8,
        }
    }

    /// How many panels stand side by side, of `panels` that a wide sheet has in a row.
    pub(super) const fn columns(self, panels: usize) -> usize {
        match self {
            Self::Wide => panels,
            Self::Narrow => 1,
        }
    }
}
