//! Formats rows in columns.

/// Formats `rows` with aligned columns; the last cell of a row is not padded.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let padding = width - cell.chars().count() + 2;
            line.extend(std::iter::repeat_n(' ', padding));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_column_are_aligned() {
        let rows = [["é", "b"], ["long", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "é     b\nlong\n");
    }
}
