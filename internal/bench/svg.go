package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// figureColors are the classes of bars and lines: a colour on light and one on dark ground.
var figureColors = [][2]string{{"#1f6feb", "#58a6ff"}, {"#9a6700", "#d29922"},
	{"#8250df", "#bc8cff"}, {"#6e7781", "#8b949e"}, {"#1a7f37", "#3fb950"}, {"#bf3989", "#f778ba"}}

// An svgPage is the part of a picture around its content.
type svgPage struct {
	width, height      int
	title, description string
	note               string // beside the title
	property           string // the property that the classes p0, p1 and so on set: fill or stroke
	colors             int    // number of these classes
}

// begin writes everything that precedes the content. The picture ends with </svg>.
func (p svgPage) begin(b *bytes.Buffer) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		`aria-labelledby="title desc" font-family="sans-serif" font-size="12">`+"\n", p.width, p.height)
	fmt.Fprintf(b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>\n",
		escapeXML(p.title), escapeXML(p.description))
	b.WriteString("text { fill: #1f2328 } .ground { fill: #ffffff } .small { font-size: 10px }\n")
	dark := "text { fill: #e6edf3 } .ground { fill: #0d1117 }"
	for i, c := range figureColors[:p.colors] {
		fmt.Fprintf(b, ".p%d { %s: %s }\n", i, p.property, c[0])
		dark += fmt.Sprintf(" .p%d { %s: %s }", i, p.property, c[1])
	}
	fmt.Fprintf(b, "@media (prefers-color-scheme: dark) { %s }\n</style>\n", dark)
	fmt.Fprintf(b, `<rect class="ground" width="%d" height="%d"/>`+"\n", p.width, p.height)
	fmt.Fprintf(b, `<text x="16" y="24" font-size="16" font-weight="bold">%s</text>`+"\n",
		escapeXML(p.title))
	fmt.Fprintf(b, `<text class="small" x="%d" y="24" text-anchor="end">%s</text>`+"\n", p.width-16,
		escapeXML(p.note))
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
