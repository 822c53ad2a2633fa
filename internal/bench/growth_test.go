package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// someGrowth has a cost that is constant for tools, and linear for <script>.
func someGrowth() growth {
	return growthOf([]measure{
		{what: "1 tools: call: raw", value: 2, unit: "µs"},
		{what: "1 <script>&: call: raw", value: 2, unit: "µs"},
		{what: "1 tools: memory of each", value: -3, unit: "B"},
		{what: "100 tools: call: raw", value: 2, unit: "µs"},
		{what: "100 tools: memory of each", value: 1500, unit: "B"},
		{what: "100 <script>&: call: raw", value: 200, unit: "µs"},
		{what: "the row: of another suite", value: 1, unit: "s"},
	})
}

func TestGrowthOfMeasures(t *testing.T) {
	g := someGrowth()
	assert.DeepEqual(t, g.Charts, []growthChart{
		{"call: raw", "µs", []growthLine{{"tools", []growthPoint{{1, 2}, {100, 2}}},
			{"<script>&", []growthPoint{{1, 2}, {100, 200}}}}},
		{"memory of each", "B", []growthLine{{"tools", []growthPoint{{100, 1500}}}}}})
	assert.NilError(t, g.check())
}

func TestDecades(t *testing.T) {
	for power := -6; power < 12; power++ {
		c := growthChart{Lines: []growthLine{{"l", []growthPoint{{1, math.Pow10(power)},
			{10, math.Pow10(power + 1)}}}}}
		low, high := c.decades()
		assert.DeepEqual(t, []int{low, high}, []int{power, power + 1})
	}
}

func TestExponent(t *testing.T) {
	l := growthLine{Name: "l", Points: []growthPoint{{1, 5}, {10, 2}, {1000, 20}}}
	assert.Equal(t, l.label(), "l, n^0.50")
	l.Points = l.Points[:1]
	assert.Equal(t, l.label(), "l")
}

func TestGrowthIsDrawn(t *testing.T) {
	g := someGrowth()
	svg := g.svg()
	checkSVG(t, svg)
	for _, want := range []string{">call: raw, µs<", ">tools, n^0.00<", ">&lt;script&gt;&amp;, n^1.00<",
		">memory of each, B<", ">tools<", ">1,000<", ">10,000<",
		" call: raw: tools 2 µs with 1, 2 with 100; &lt;script&gt;&amp; 2 µs with 1, 200 with 100." +
			" memory of each: tools 1,500 B with 100.<"} {
		assert.Assert(t, bytes.Contains(svg, []byte(want)), want)
	}
	// the lines end two decades to the right: the line of tools at the same height, the other two
	// decades higher
	for _, want := range []string{`d="M64.0 206.9L164.0 206.9"`, `d="M64.0 206.9L164.0 106.9"`} {
		assert.Assert(t, bytes.Contains(svg, []byte(want)), "%s in\n%s", want, svg)
	}
}

// The picture that is drawn from the saved numbers equals the picture of the measures.
func TestGrowthIsSaved(t *testing.T) {
	g := someGrowth()
	dir := t.TempDir()
	assert.NilError(t, writePicture(&g, dir+"/g.svg", dir+"/g.json"))
	saved, err := readPicture(dir + "/g.json")
	assert.NilError(t, err)
	svg, err := os.ReadFile(dir + "/g.svg")
	assert.NilError(t, err)
	assert.Equal(t, string(saved.svg()), string(svg))
}

// The largest data is drawn within bounds, with all labels in the picture.
func TestLargestGrowth(t *testing.T) {
	g := largestGrowth()
	assert.NilError(t, g.check())
	svg := g.svg()
	const most = 512 << 10
	assert.Assert(t, len(svg) <= most, "%d bytes", len(svg))
	var root struct {
		ViewBox string `xml:"viewBox,attr"`
		Texts   []struct {
			X float64 `xml:"x,attr"`
			Y float64 `xml:"y,attr"`
		} `xml:"text"`
	}
	assert.NilError(t, xml.Unmarshal(svg, &root))
	var width, height float64
	_, err := fmt.Sscanf(root.ViewBox, "0 0 %g %g", &width, &height)
	assert.NilError(t, err)
	assert.Assert(t, len(root.Texts) > maxCharts*maxThings)
	for _, text := range root.Texts {
		assert.Assert(t, text.X >= 0 && text.X < width && text.Y > 0 && text.Y < height, text)
	}
}

func largestGrowth() growth {
	var g growth
	for range maxCharts {
		c := growthChart{Name: strings.Repeat("c", maxTitle-2), Unit: "µs"}
		for thing := range maxThings {
			l := growthLine{Name: fmt.Sprintf("%0*d", maxName, thing)}
			for n := 1; len(l.Points) < maxPoints-1; n++ {
				l.Points = append(l.Points, growthPoint{n, minValue})
			}
			l.Points = append(l.Points, growthPoint{maxCount, maxValue})
			c.Lines = append(c.Lines, l)
		}
		g.Charts = append(g.Charts, c)
	}
	return g
}

func TestSpread(t *testing.T) {
	assert.DeepEqual(t, spread([]float64{50, 20, 50}, 10, 0, 100), []float64{50, 20, 60})
	assert.DeepEqual(t, spread([]float64{98, 99, 100}, 10, 0, 100), []float64{80, 90, 100})
	assert.DeepEqual(t, spread([]float64{1, 0, 0}, 10, 0, 20), []float64{20, 0, 10})
}

func TestWrongGrowths(t *testing.T) {
	const line = `{"charts":[{"name":"c","lines":[{"name":"l","points":[%s]}]}]}`
	long := strings.Repeat("x", maxTitle+1)
	points := strings.Repeat(`,{"count":1,"value":1}`, maxPoints+1)[1:]
	chart := `,{"name":"c","lines":[]}`
	for text, want := range map[string]string{
		`{"charts":[]}`:   "0 charts, want 1 to 16",
		`{"charts":null}`: "0 charts, want 1 to 16",
		`{"charts":[` + strings.Repeat(chart, maxCharts+1)[1:] + `]}`: "17 charts, want 1 to 16",
		`{"charts":[{"name":"c","lines":[]}]}`:                        `chart "c" has no lines`,
		`{"charts":[{"name":"` + long + `","lines":[]}]}`:             "are longer than 40 characters",
		`{"charts":[{"name":"c","lines":[{"name":"` + long + `"}]}]}`: "is longer than 24 characters",
		`{"charts":[{"name":"c","lines":[{"name":"l"}]}]}`: `chart "c": line "l": 0 points, ` +
			`want 1 to 24`,
		fmt.Sprintf(line, points):                        "25 points, want 1 to 24",
		fmt.Sprintf(line, `{"count":0,"value":1}`):       "the count 0 is not between 1 and 1000000",
		fmt.Sprintf(line, `{"count":2000000,"value":1}`): "the count 2000000 is not between",
		fmt.Sprintf(line, `{"count":1.5,"value":1}`):     "cannot unmarshal number 1.5",
		fmt.Sprintf(line, `{"count":1,"value":0}`):       "the value 0 is not between 1e-06 and 1e+12",
		fmt.Sprintf(line, `{"count":1,"value":-1}`):      "the value -1 is not between",
		fmt.Sprintf(line, `{"count":1,"value":1e13}`):    "the value 1e+13 is not between",
		fmt.Sprintf(line, `{"count":2,"value":1},{"count":2,"value":1}`): "the counts do not " +
			"increase",
		`{"charts":[],"rows":[]}`: `unknown field "rows"`,
		`{"charts":[]} more`:      "after top-level value",
		"":                        "unexpected end of JSON input",
	} {
		file := t.TempDir() + "/g.json"
		assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := readPicture(file)
		assert.ErrorContains(t, err, want)
	}
	g := largestGrowth()
	g.Charts[1].Lines[0].Name = "one more"
	assert.Error(t, g.check(), "13 kinds of things, want at most 12")
}
