// SPDX-License-Identifier: GPL-2.0-only

//! The look of every table this program prints: aligned columns, no lines, no colour, at most
//! [`WIDTH`] columns wide, the same into a terminal, a pipe or a file.

use comfy_table::{presets, CellAlignment, ContentArrangement, Table};

/// Columns of a line, at most; longer cells wrap.
pub const WIDTH: u16 = 100;

/// An empty table with these column heads.
pub fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(head);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Aligns columns of numbers, from the column `first` on, to the right.
pub fn align_right_from(table: &mut Table, first: usize) {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The table as lines without trailing spaces, the last one with a line break.
pub fn lines(table: &Table) -> String {
    let lines = table.lines().map(|l| l.trim_end().to_string() + "\n");
    lines.collect()
}
