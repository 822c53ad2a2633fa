package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// checkSVG fails unless text is well-formed, small, and has neither scripts nor references.
func checkSVG(t *testing.T, text []byte) {
	t.Helper()
	const most = 40 << 10 // about 2.5 KiB a chart
	assert.Assert(t, len(text) <= most, "%d bytes", len(text))
	names := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		assert.NilError(t, err)
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		names[element.Name.Local]++
		for _, a := range element.Attr {
			name := strings.ToLower(a.Name.Local)
			assert.Assert(t, !strings.HasPrefix(name, "on") && name != "href" && name != "src", name)
		}
	}
	for name := range names {
		switch name {
		case "svg", "title", "desc", "style", "rect", "text", "path":
		default:
			t.Errorf("the picture has an element %s", name)
		}
	}
	assert.Equal(t, names["title"], 1)
	assert.Equal(t, names["desc"], 1)
	assert.Assert(t, bytes.Contains(text, []byte("prefers-color-scheme: dark")))
	assert.Assert(t, !bytes.Contains(text, []byte("url(")) && !bytes.Contains(text, []byte("@import")))
}

// The picture matches the figures of README.md in this folder. After a change of them, run: go run
// . -draw comparison.json -svg comparison.svg
func TestComparisonIsDrawn(t *testing.T) {
	p, err := readPicture("comparison.json")
	assert.NilError(t, err)
	f := p.(*figure)
	text, err := os.ReadFile("comparison.svg")
	assert.NilError(t, err)
	checkSVG(t, text)
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	assert.Equal(t, string(text), string(f.svg()))
	readme, err := os.ReadFile("README.md")
	assert.NilError(t, err)
	for _, row := range f.Rows {
		for _, v := range row.Values {
			assert.Assert(t, v == 0 || bytes.Contains(readme, []byte(number(v))), "%s: %s", row.Name,
				number(v))
		}
	}
}

// The pictures of growth match their figures, each of which one run of a suite has saved.
func TestGrowthPictures(t *testing.T) {
	for _, name := range []string{"growth", "load"} {
		p, err := readPicture(name + ".json")
		assert.NilError(t, err)
		text, err := os.ReadFile(name + ".svg")
		assert.NilError(t, err)
		checkSVG(t, text)
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		assert.Equal(t, string(text), string(p.(*growth).svg()))
	}
}

func TestFigureOfMeasures(t *testing.T) {
	f := figureOf([]measure{{what: "a", program: "stdwire", value: 2, unit: "µs"},
		{what: "a", program: "<script>&", value: 4, unit: "µs"},
		{what: "own", program: "stdwire", value: 1, unit: "s"},
		{what: "b", program: "stdwire", value: 1500, unit: "calls/s", rate: true},
		{what: "b", program: "third", value: 0.5, unit: "calls/s", rate: true}})
	assert.DeepEqual(t, f.Programs, []string{"stdwire", "<script>&", "third"})
	assert.DeepEqual(t, f.Rows, []figureRow{{"a", "µs", false, []float64{2, 4, 0}},
		{"b", "calls/s", true, []float64{1500, 0, 0.5}}})
	svg := f.svg()
	checkSVG(t, svg)
	for _, want := range []string{"&lt;script&gt;&amp;", ">1,500<", "more is better"} {
		assert.Assert(t, bytes.Contains(svg, []byte(want)), want)
	}
	assert.Equal(t, f.Rows[0].share(4), 1.0)
	assert.Equal(t, f.Rows[0].share(2), 0.5)
}

func TestWrongFigures(t *testing.T) {
	for text, want := range map[string]string{
		`{"programs":[]}`: "0 programs, want 1 to 6",
		`{"programs":["a"],"rows":[{"name":"x","values":[1,2]}]}`: `row "x": 2 values for 1 programs`,
		`{"programs":["a"],"rows":[{"name":"x","values":[-1]}]}`:  "the value -1 is negative",
		`{"program":["a"]}`:                 "unknown field",
		`{"programs":["a"],"rows":[]} more`: "after top-level value",
	} {
		file := t.TempDir() + "/f.json"
		assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := readPicture(file)
		assert.ErrorContains(t, err, want)
	}
}
