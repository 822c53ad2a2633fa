package main

import (
	"bytes"
	"fmt"
	"math"
)

// A figure is a table of costs of programs as a picture: a group of bars for each row, on a
// logarithmic scale.
type figure struct {
	Title       string      `json:"title"`
	Description string      `json:"description"` // for readers who cannot see the picture
	Programs    []string    `json:"programs"`    // at most as many as there are colours
	Rows        []figureRow `json:"rows"`
}

// A figureRow is a quantity with the value of each program, or 0 if it was not measured.
type figureRow struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Higher bool      `json:"higher"` // whether a higher value is better
	Values []float64 `json:"values"`
}

func (f *figure) check() error {
	if len(f.Programs) == 0 || len(f.Programs) > len(figureColors) {
		return fmt.Errorf("%d programs, want 1 to %d", len(f.Programs), len(figureColors))
	}
	for _, row := range f.Rows {
		if len(row.Values) != len(f.Programs) {
			return fmt.Errorf("row %q: %d values for %d programs", row.Name, len(row.Values),
				len(f.Programs))
		}
		for _, v := range row.Values {
			if v < 0 {
				return fmt.Errorf("row %q: the value %g is negative", row.Name, v)
			}
		}
	}
	return nil
}

// figureOf returns the figure of the measures of some suites: a row for each quantity that
// stdwire and another program have.
func figureOf(all []measure) figure {
	f := figure{Title: "stdwire beside its peers",
		Description: "Bars of each quantity and program, from one run on one machine."}
	column := map[string]int{}
	index := map[string]int{}
	others := map[string]bool{}
	for _, m := range all {
		others[m.what] = others[m.what] || m.program != "stdwire"
		if _, known := column[m.program]; !known && len(f.Programs) < len(figureColors) {
			column[m.program] = len(f.Programs)
			f.Programs = append(f.Programs, m.program)
		}
	}
	for _, m := range all {
		n, shown := column[m.program]
		if !shown || !others[m.what] {
			continue
		}
		if _, known := index[m.what]; !known {
			index[m.what] = len(f.Rows)
			f.Rows = append(f.Rows, figureRow{Name: m.what, Unit: m.unit, Higher: m.rate,
				Values: make([]float64, len(f.Programs))})
		}
		f.Rows[index[m.what]].Values[n] = m.value
	}
	return f
}

// svg draws the figure. Each row has a logarithmic scale of its own, whose end is its largest
// value.
func (f *figure) svg() []byte {
	const width, left, right, bar, gap, head = 880, 330, 110, 13, 12, 70
	height := head
	for range f.Rows {
		height += len(f.Programs)*bar + gap
	}
	var b bytes.Buffer
	svgPage{width, height, f.Title, f.Description, "each row has a logarithmic scale of its own",
		"fill", len(f.Programs)}.begin(&b)
	for i, x := 0, 16; i < len(f.Programs); i++ {
		fmt.Fprintf(&b, `<rect class="p%d" x="%d" y="38" width="12" height="12"/>`+
			`<text x="%d" y="48">%s</text>`+"\n", i, x, x+17, escapeXML(f.Programs[i]))
		x += 45 + 7*len([]rune(f.Programs[i]))
	}
	y := head
	for _, row := range f.Rows {
		better := "less is better"
		if row.Higher {
			better = "more is better"
		}
		middle := y + len(f.Programs)*bar/2
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+
			`<text class="small" x="%d" y="%d" text-anchor="end">%s, %s</text>`+"\n",
			left-10, middle-1, escapeXML(row.Name), left-10, middle+12, escapeXML(row.Unit), better)
		for i, v := range row.Values {
			if v > 0 {
				fmt.Fprintf(&b, `<rect class="p%d" x="%d" y="%d" width="%.1f" height="%d"/>`+
					`<text class="small" x="%.1f" y="%d">%s</text>`+"\n", i, left, y,
					row.share(v)*(width-left-right), bar-2,
					left+row.share(v)*(width-left-right)+5, y+bar-3, number(v))
			}
			y += bar
		}
		y += gap
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// share returns the length of the bar of a value. The longest bar has length 1. The scale is
// logarithmic and begins at half of the smallest value, so that each value has a bar.
func (r *figureRow) share(value float64) float64 {
	least, most := math.Inf(1), 0.0
	for _, v := range r.Values {
		if v > 0 {
			least, most = min(least, v), max(most, v)
		}
	}
	least /= 2
	return math.Log(value/least) / math.Log(most/least)
}
