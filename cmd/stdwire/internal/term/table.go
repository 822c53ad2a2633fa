package term

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/printable"
)

// PrintTable prints rows as columns, two spaces apart. Control characters are escaped. The cells of
// the columns states have the style of their word; see [StyleOf]. On a terminal that is too narrow,
// the last column is wrapped, if it has room.
func (o *Output) PrintTable(rows [][]string, states ...int) {
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			shown[i] = append(shown[i], printable.Line(cell))
		}
	}
	columns := o.Columns()
	widths := columns.Widths(shown)
	for _, row := range shown {
		for len(row) > 0 && row[len(row)-1] == "" {
			row = row[:len(row)-1]
		}
		start := 0
		for i, cell := range row {
			const narrow = 20 // columns for text, at least
			last := i == len(row)-1
			switch {
			case !last:
				cell = columns.Pad(cell, widths[i])
			case o.Terminal && i > 0 && start+narrow <= columns.Total():
				cell = strings.TrimLeft(columns.Wrap(cell, start, start), " ")
			}
			if slices.Contains(states, i) {
				o.PrintState(cell)
			} else {
				o.Print(cell)
			}
			if !last {
				o.Print("  ")
			}
			start += widths[i] + 2
		}
		o.Print("\n")
	}
}
