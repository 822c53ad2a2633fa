package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
)

// A picture is drawn as SVG from numbers that are kept as JSON: a figure or a growth.
type picture interface {
	check() error
	svg() []byte
}

// readPicture reads the numbers of a picture from a JSON file. The member "charts" is only in files
// of a growth.
func readPicture(file string) (picture, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var members struct {
		Charts json.RawMessage `json:"charts"`
	}
	var p picture = &figure{}
	if err = json.Unmarshal(text, &members); err == nil {
		if members.Charts != nil {
			p = &growth{}
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(p)
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// writePicture writes a picture as SVG and as JSON, to the files whose names are not "".
func writePicture(p picture, svg, data string) error {
	if svg != "" {
		if err := os.WriteFile(svg, p.svg(), 0o644); err != nil {
			return err
		}
	}
	if data == "" {
		return nil
	}
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(data, append(text, '\n'), 0o644)
}

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
