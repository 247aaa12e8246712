// How two texts differ, line by line. Called by diff.mjs; draws nothing.

// Beyond it texts are compared as wholes: the table below has lines * lines cells.
const lines_max = 1500;

// [{kind: 'same', 'old' or 'new', text}], a longest common subsequence kept.
export function line_changes(before, after) {
  const [old_lines, new_lines] = [before.split('\n'), after.split('\n')];
  const [rows, columns] = [old_lines.length, new_lines.length];
  if (rows > lines_max || columns > lines_max) {
    return [
      ...old_lines.map((text) => ({ kind: 'old', text })),
      ...new_lines.map((text) => ({ kind: 'new', text })),
    ];
  }
  // longest[i][j]: of what is behind line i of the one and line j of the other.
  const longest = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; --i) {
    for (let j = columns - 1; j >= 0; --j) {
      longest[i][j] =
        old_lines[i] === new_lines[j]
          ? longest[i + 1][j + 1] + 1
          : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const changes = [];
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    if (i < rows && j < columns && old_lines[i] === new_lines[j]) {
      changes.push({ kind: 'same', text: old_lines[i] });
      i += 1;
      j += 1;
    } else if (j === columns || (i < rows && longest[i + 1][j] >= longest[i][j + 1])) {
      changes.push({ kind: 'old', text: old_lines[i] });
      i += 1;
    } else {
      changes.push({ kind: 'new', text: new_lines[j] });
      j += 1;
    }
  }
  return changes;
}
