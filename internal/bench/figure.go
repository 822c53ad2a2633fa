package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"
)

// A figure is a table of costs of programs as a picture: a group of bars for each row, on a
// logarithmic scale.
type figure struct {
	Title       string      `json:"title"`
	Description string      `json:"description"` // for who cannot see the picture
	Programs    []string    `json:"programs"`    // at most as many as there are colours
	Rows        []figureRow `json:"rows"`
}

// A figureRow is a quantity with the value of each program, or 0 if it was not measured.
type figureRow struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Higher bool      `json:"higher"` // is better
	Values []float64 `json:"values"`
}

// readFigure reads a figure from a file of JSON.
func readFigure(file string) (figure, error) {
	var f figure
	text, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	if err := f.check(); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

// writeFigure writes a figure as SVG and as JSON, to the files whose names are not "".
func writeFigure(f figure, svg, data string) error {
	if svg != "" {
		if err := os.WriteFile(svg, f.svg(), 0o644); err != nil {
			return err
		}
	}
	if data == "" {
		return nil
	}
	text, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(data, append(text, '\n'), 0o644)
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

// figureColors are the classes of bars: a colour on light and one on dark ground.
var figureColors = [][2]string{{"#1f6feb", "#58a6ff"}, {"#9a6700", "#d29922"},
	{"#8250df", "#bc8cff"}, {"#6e7781", "#8b949e"}, {"#1a7f37", "#3fb950"}, {"#bf3989", "#f778ba"}}

// svg draws the figure. Each row has a logarithmic scale of its own, whose end is its largest
// value.
func (f *figure) svg() []byte {
	const width, left, right, bar, gap, head = 880, 330, 110, 13, 12, 70
	height := head
	for range f.Rows {
		height += len(f.Programs)*bar + gap
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		`aria-labelledby="title desc" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>\n",
		escapeXML(f.Title), escapeXML(f.Description))
	b.WriteString("text { fill: #1f2328 } .ground { fill: #ffffff } .small { font-size: 10px }\n")
	dark := "text { fill: #e6edf3 } .ground { fill: #0d1117 }"
	for i, c := range figureColors[:len(f.Programs)] {
		fmt.Fprintf(&b, ".p%d { fill: %s }\n", i, c[0])
		dark += fmt.Sprintf(" .p%d { fill: %s }", i, c[1])
	}
	fmt.Fprintf(&b, "@media (prefers-color-scheme: dark) { %s }\n</style>\n", dark)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="16" y="24" font-size="16" font-weight="bold">%s</text>`+"\n",
		escapeXML(f.Title))
	fmt.Fprintf(&b, `<text class="small" x="%d" y="24" text-anchor="end">`+
		"each row has a logarithmic scale of its own</text>\n", width-16)
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

// share returns the length of the bar of a value, of which 1 is the longest. The scale is
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

// number formats a value with three digits and separators of thousands.
func number(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}
