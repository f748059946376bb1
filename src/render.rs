// SPDX-License-Identifier: GPL-2.0-only

//! The look of every table this program prints: aligned columns, no lines, no colour, at most
//! [`WIDTH`] columns wide, the same into a terminal, a pipe or a file.

use comfy_table::{presets, ContentArrangement, Table};

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

/// The table as lines without trailing spaces, the last one with a line break.  comfy-table pads
/// with no-break spaces, which grep, cut and awk do not take for blanks.
pub fn lines(table: &Table) -> String {
    let lines = table
        .lines()
        .map(|l| l.replace('\u{a0}', " ").trim_end().to_string() + "\n");
    lines.collect()
}

/// Breaks a line of words at [`WIDTH`]; lines after the first begin with `indent` spaces.  A word
/// that is too long stays whole.
pub fn wrap(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH as usize {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_plain_ascii() {
        let mut t = table(&["a", "b"]);
        t.add_row(["1", "2"]);
        assert!(lines(&t).is_ascii());
    }

    #[test]
    fn wrap_breaks_between_words() {
        assert_eq!(wrap("a b", 2), "a b");
        assert_eq!(wrap("", 2), "");
        let text = format!("{} b {}", "a".repeat(98), "c".repeat(120));
        let expected = format!("{} b\n  {}", "a".repeat(98), "c".repeat(120));
        assert_eq!(wrap(&text, 2), expected);
    }
}
