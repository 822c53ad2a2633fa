package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A growth is a chart of each cost that a suite which grows measures. All axes are logarithmic, and
// a decade is as long on each, so that slopes are comparable.
type growth struct {
	Charts []growthChart `json:"charts"`
}

// A growthChart has a line for each kind of thing whose number the cost may depend on.
type growthChart struct {
	Name  string       `json:"name"`
	Unit  string       `json:"unit"`
	Lines []growthLine `json:"lines"`
}

type growthLine struct {
	Name   string        `json:"name"`
	Points []growthPoint `json:"points"`
}

// A growthPoint is the cost with a number of things.
type growthPoint struct {
	Count int     `json:"count"`
	Value float64 `json:"value"`
}

// Limits of a growth, which bound the picture.
const (
	maxCharts = 16
	maxThings = 12 // as many as there are colours, twice: solid and dashed
	maxCount  = 1_000_000
	minValue  = 1e-6
	maxValue  = 1e12
	maxPoints = 24 // of a line
	maxTitle  = 40 // characters of the name and unit of a chart
	maxName   = 24 // characters of the name of a line
)

// growthOf returns the growth of the measures of a suite which grows. It leaves out costs that are
// not positive, which a logarithmic scale does not have.
func growthOf(all []measure) growth {
	var g growth
	for _, m := range all {
		n, things, cost, ok := parseScaleRow(m.what)
		if !ok || m.value <= 0 {
			continue
		}
		c := slices.IndexFunc(g.Charts, func(c growthChart) bool { return c.Name == cost })
		if c < 0 {
			c = len(g.Charts)
			g.Charts = append(g.Charts, growthChart{Name: cost, Unit: m.unit})
		}
		lines := &g.Charts[c].Lines
		l := slices.IndexFunc(*lines, func(l growthLine) bool { return l.Name == things })
		if l < 0 {
			l = len(*lines)
			*lines = append(*lines, growthLine{Name: things})
		}
		(*lines)[l].Points = append((*lines)[l].Points, growthPoint{n, m.value})
	}
	return g
}

// parseScaleRow is the inverse of scaleRow.
func parseScaleRow(what string) (n int, things, cost string, ok bool) {
	count, rest, _ := strings.Cut(what, " ")
	things, cost, ok = strings.Cut(rest, ": ")
	n, err := strconv.Atoi(count)
	return n, things, cost, ok && err == nil
}

func (g *growth) check() error {
	if len(g.Charts) == 0 || len(g.Charts) > maxCharts {
		return fmt.Errorf("%d charts, want 1 to %d", len(g.Charts), maxCharts)
	}
	for _, c := range g.Charts {
		if len([]rune(c.Name+c.Unit)) > maxTitle {
			return fmt.Errorf("chart %.*q: name and unit are longer than %d characters", maxTitle,
				c.Name, maxTitle)
		}
		if len(c.Lines) == 0 {
			return fmt.Errorf("chart %q has no lines", c.Name)
		}
		for _, l := range c.Lines {
			if err := l.check(); err != nil {
				return fmt.Errorf("chart %q: line %.*q: %w", c.Name, maxName, l.Name, err)
			}
		}
	}
	if n := len(g.things()); n > maxThings {
		return fmt.Errorf("%d kinds of things, want at most %d", n, maxThings)
	}
	return nil
}

func (l *growthLine) check() error {
	if len([]rune(l.Name)) > maxName {
		return fmt.Errorf("the name is longer than %d characters", maxName)
	}
	if len(l.Points) == 0 || len(l.Points) > maxPoints {
		return fmt.Errorf("%d points, want 1 to %d", len(l.Points), maxPoints)
	}
	before := 0
	for _, p := range l.Points {
		if p.Count < 1 || p.Count > maxCount {
			return fmt.Errorf("the count %d is not between 1 and %d", p.Count, maxCount)
		}
		if p.Count <= before {
			return errors.New("the counts do not increase")
		}
		if !(p.Value >= minValue && p.Value <= maxValue) {
			return fmt.Errorf("the value %g is not between %g and %g", p.Value, minValue, maxValue)
		}
		before = p.Count
	}
	return nil
}

// things returns the names of the lines of all charts, each once.
func (g *growth) things() []string {
	var names []string
	for _, c := range g.Charts {
		for _, l := range c.Lines {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

// exponent returns the exponent of the growth between the last two points, like the table of the
// suite: 0 is constant, 1 linear.
func (l *growthLine) exponent() float64 {
	before, last := l.Points[len(l.Points)-2], l.Points[len(l.Points)-1]
	return math.Log(last.Value/before.Value) / math.Log(float64(last.Count)/float64(before.Count))
}

// label returns the name of a line, and its growth if it has more than one point.
func (l *growthLine) label() string {
	if len(l.Points) == 1 {
		return l.Name
	}
	return fmt.Sprintf("%s, n^%.2f", l.Name, l.exponent())
}

// description describes the ends of all lines, for readers who cannot see the picture.
func (g *growth) description() string {
	var b strings.Builder
	b.WriteString("Lines of costs against the number of things, on logarithmic scales.")
	for _, c := range g.Charts {
		for i, l := range c.Lines {
			separator := "; "
			if i == 0 {
				separator = " " + c.Name + ": "
			}
			first, last := l.Points[0], l.Points[len(l.Points)-1]
			fmt.Fprintf(&b, "%s%s %s %s with %s", separator, l.Name, number(first.Value), c.Unit,
				number(float64(first.Count)))
			if len(l.Points) > 1 {
				fmt.Fprintf(&b, ", %s with %s", number(last.Value), number(float64(last.Count)))
			}
		}
		b.WriteString(".")
	}
	return b.String()
}

const (
	chartDecade = 50  // pixels
	chartLeft   = 64  // of the page or the chart before, to the axis
	chartLabels = 210 // from the end of the axis, for the names of lines
	chartHead   = 26
	chartFoot   = 26
	chartLine   = 13 // height of a label
)

// log10 returns the logarithm without the last digits, so that those of powers of ten are whole on
// every platform.
func log10(v float64) float64 { return math.Round(math.Log10(v)*1e9) / 1e9 }

// decades returns the powers of ten that contain all values. They leave room for the labels.
func (c *growthChart) decades() (low, high int) {
	least, most := math.Inf(1), 0.0
	for _, l := range c.Lines {
		for _, p := range l.Points {
			least, most = min(least, p.Value), max(most, p.Value)
		}
	}
	low, high = int(math.Floor(log10(least))), int(math.Ceil(log10(most)))
	for high == low || (high-low)*chartDecade < len(c.Lines)*chartLine {
		high++
	}
	return low, high
}

// decades returns the power of ten that contains all counts, at least 2: the page has room for its
// title and note.
func (g *growth) decades() int {
	most := 100
	for _, c := range g.Charts {
		for _, l := range c.Lines {
			most = max(most, l.Points[len(l.Points)-1].Count)
		}
	}
	return int(math.Ceil(log10(float64(most))))
}

// svg draws the charts in two columns.
func (g *growth) svg() []byte {
	const head = 46
	decades, things := g.decades(), g.things()
	column := chartLeft + decades*chartDecade + chartLabels
	height := head
	var tops []int // of each chart
	for i := 0; i < len(g.Charts); i += 2 {
		row := 0
		for _, c := range g.Charts[i:min(i+2, len(g.Charts))] {
			low, high := c.decades()
			row = max(row, chartHead+(high-low)*chartDecade+chartFoot)
			tops = append(tops, height)
		}
		height += row
	}
	var b bytes.Buffer
	svgPage{2 * column, height, "How the costs of stdwire grow", g.description(),
		"flat is constant, the diagonal of a square linear; n^ is the growth at the end of a line",
		"stroke", min(len(things), len(figureColors))}.begin(&b)
	for i, c := range g.Charts {
		c.draw(&b, i%2*column+chartLeft, tops[i], decades, things)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw draws the chart whose vertical axis is at x and whose head begins at y.
func (c *growthChart) draw(b *bytes.Buffer, x, y, decades int, things []string) {
	low, high := c.decades()
	top, width := y+chartHead, decades*chartDecade
	bottom := top + (high-low)*chartDecade
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s, %s</text>`+"\n", x, y+16,
		escapeXML(c.Name), escapeXML(c.Unit))
	var grid strings.Builder
	for d := range high - low + 1 {
		fmt.Fprintf(&grid, "M%d %dh%d", x, bottom-d*chartDecade, width)
		fmt.Fprintf(b, `<text class="small" x="%d" y="%d" text-anchor="end">%s</text>`+"\n", x-5,
			bottom-d*chartDecade+3, number(math.Pow10(low+d)))
	}
	for d := range decades + 1 {
		fmt.Fprintf(&grid, "M%d %dv%d", x+d*chartDecade, top, bottom-top)
		fmt.Fprintf(b, `<text class="small" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
			x+d*chartDecade, bottom+13, number(math.Pow10(d)))
	}
	fmt.Fprintf(b, `<path d="%s" stroke="#8b949e" stroke-opacity="0.4"/>`+"\n", &grid)
	ends := make([]float64, len(c.Lines))
	for i, l := range c.Lines {
		var line, dots strings.Builder
		for k, p := range l.Points {
			px := float64(x) + log10(float64(p.Count))*chartDecade
			py := float64(bottom) - (log10(p.Value)-float64(low))*chartDecade
			command := "L"
			if k == 0 {
				command = "M"
			}
			fmt.Fprintf(&line, "%s%.1f %.1f", command, px, py)
			fmt.Fprintf(&dots, "M%.1f %.1fh0", px, py)
			ends[i] = py
		}
		style := lineStyle(slices.Index(things, l.Name))
		fmt.Fprintf(b, `<path %s d="%s"/>`+"\n", style, &line)
		fmt.Fprintf(b, `<path class="p%d" stroke-width="5" stroke-linecap="round" d="%s"/>`+"\n",
			slices.Index(things, l.Name)%len(figureColors), &dots)
	}
	for i, middle := range spread(ends, chartLine, float64(top), float64(bottom)) {
		l, from := c.Lines[i], x+width+8
		fmt.Fprintf(b, `<path %s d="M%d %.1fh18"/><text class="small" x="%d" y="%.1f">%s</text>`+"\n",
			lineStyle(slices.Index(things, l.Name)), from, middle, from+23, middle+3,
			escapeXML(l.label()))
	}
}

// lineStyle returns the attributes of a line, which differ for each kind of thing.
func lineStyle(thing int) string {
	style := fmt.Sprintf(`class="p%d" fill="none" stroke-width="2"`, thing%len(figureColors))
	if thing >= len(figureColors) {
		style += ` stroke-dasharray="5 3"`
	}
	return style
}

// spread returns the places of labels. Each is as near to its wanted place as the other labels
// permit, which are at least distance away. All labels are between top and bottom.
func spread(wanted []float64, distance, top, bottom float64) []float64 {
	order := make([]int, len(wanted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wanted[a], wanted[b]) })
	places := slices.Clone(wanted)
	least := top
	for _, i := range order {
		places[i] = max(places[i], least)
		least = places[i] + distance
	}
	most := bottom
	for _, i := range slices.Backward(order) {
		places[i] = min(places[i], most)
		most = places[i] - distance
	}
	return places
}
