//go:build linux

package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestScaleLoad(t *testing.T) {
	all, err := scaleLoad(options{time: time.Millisecond}, 16)
	assert.NilError(t, err)
	g := growthOf(all)
	assert.NilError(t, g.check())
	checkSVG(t, g.svg())
	byFour, byTen := []int{1, 4, 16}, []int{1, 10, 16}
	want := map[string][]int{"calls in flight": byFour, "× 64 B, one in flight": byFour,
		"× 64 B, 16 in flight": byFour, "connections, HTTP": byTen,
		"connections, Unix socket": byTen}
	var names []string
	for _, chart := range g.Charts {
		names = append(names, chart.Name)
		counts := map[string][]int{}
		for _, line := range chart.Lines {
			for _, point := range line.Points {
				counts[line.Name] = append(counts[line.Name], point.Count)
			}
		}
		assert.DeepEqual(t, counts, want)
	}
	assert.DeepEqual(t, names, []string{"call", "call, p99", "peak RSS"})
}

// The longest text passes the limits of the server in either direction.
func TestLongestLoad(t *testing.T) {
	r, err := loadStdio(2, maxSize, options{time: time.Millisecond})
	assert.NilError(t, err)
	assert.Assert(t, len(r.times) > 0)
	assert.Assert(t, r.peakRSS > 3*maxSize>>20, "%.0f MiB", r.peakRSS)
}

func TestLoadsThatFail(t *testing.T) {
	counts := []int{}
	_, err := measureLoads([]loadCurve{{"things", 10, 1000, func(n int, _ options) (*loadRun, error) {
		counts = append(counts, n)
		if n == 50 {
			return nil, errors.New("too many")
		}
		return &loadRun{times: []time.Duration{1}, took: 1}, nil
	}}}, options{}, 50)
	assert.Error(t, err, "50 things: too many")
	assert.DeepEqual(t, counts, []int{1, 10, 50})
}

func TestAnswersOfSockets(t *testing.T) {
	for answer, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"text":"` + string(httpEcho) + `"}}`: "",
		`{"jsonrpc":"2.0","id":1,"result":{"text":"y"}}`:                        "the server says",
		`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"text":"` +
			string(httpEcho) + `"}}`: "the server says",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy"}}`: "busy",
	} {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			_, _ = bufio.NewReader(far).ReadString('\n')
			_, _ = io.WriteString(far, answer+"\n")
		}()
		err := newSocketClient(near, []byte("{}\n")).echo()
		near.Close()
		if want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	near, far := net.Pipe()
	far.Close()
	assert.Assert(t, newSocketClient(near, []byte("{}\n")).echo() != nil)
}
