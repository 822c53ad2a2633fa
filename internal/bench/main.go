// Command bench measures stdwire beside other libraries, in one run on one machine, and prints a
// table with the ratios.
//
//	go run . [-suite rpc,pipe,stdio,client,client-http,start,auth,http,gateway,gateway-http] \
//		[-time 1s] [-repeat 3] [-profile DIR]
//	go run . -suite http-load -time 60s -repeat 1
//	go run . -suite gateway-load -repeat 1
//	go run . -suite scale -time 200ms
//	go run . -suite scale-load -time 300ms
//	go run . -suite telemetry -time 3s
//	go run . -suite retrieval -repeat 1
//	go run . -suite redis
//	go run . -suite rules
//	go run . -against REV [-suite …] [-time 1s] [-repeat 3]
//	go run . [-suite …] -svg FILE [-save FILE.json]
//	go run . -suite scale|scale-load -svg FILE [-save FILE.json]
//	go run . -draw FILE.json -svg FILE
//
// Absolute numbers depend on the machine; compare the ratios. Each number is the median of the
// repeats, followed by the least and the greatest. The programs take turns, so that other load on
// the machine affects all. The suite gateway-http also measures TBXark's mcp-proxy if
// STDWIRE_BENCH_MCP_PROXY is the path of its binary. With -profile, the servers of the HTTP suites
// and of the suite telemetry and the clients write pprof profiles: NAME.cpu and NAME.allocs. With
// -own, the suites measure stdwire only.
//
// The suite retrieval measures how well tools are found by queries, with the corpora that are
// committed, and with checkouts of LiveMCPBench, MetaTool and MCPToolBenchPP in the folder that
// STDWIRE_BENCH_CORPORA names, if it is set. It lists what stdwire missed.
//
// With -svg, the program also draws the numbers that it has beside those of other programs as bars
// in an SVG file; with -save, it writes them as JSON, which -draw draws later, without measuring.
// comparison.svg is drawn from comparison.json, figures of README.md. The suites scale and
// scale-load, each run alone, are drawn as lines: how each cost grows with the number of things
// that a server has, and with the load on a server process.
//
// With -against, the program measures stdwire of the work tree beside stdwire of a commit, and
// prints the best value of the repeats and the ratio of the costs: a row with more than 1.10× is
// marked SLOWER. Both run the benchmarks of the work tree, or, if these do not compile with the
// library of the commit, each its own; rows are then compared if their names are the same.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// A measure is one number of one program. Lower is better, unless rate is set.
type measure struct {
	what, program string
	value         float64
	unit          string
	rate          bool
	extra         string // further columns, such as allocations
}

// A budget bounds the ratio of stdwire's number to another program's: from below for rates, from
// above for costs.
type budget struct {
	what, program string
	ratio         float64
}

type options struct {
	time     time.Duration // for each number
	own      bool          // measure no other library
	profiles string        // the folder for profiles; "" for none
	// how many idle subscriptions the suite http-load opens
	listeners int
}

// measures reports whether a program is measured.
func (o options) measures(program string) bool { return !o.own || program == "stdwire" }

// A suite measures its programs once.
type suite struct {
	name    string
	run     func(o options) ([]measure, error)
	budgets []budget
	grows   bool // whether its rows are those of scaleRow, and are drawn as a growth
}

var suites = []suite{
	{"rpc", rpcSuite, nil, false},
	{"pipe", pipeSuite, nil, false},
	{"stdio", stdioSuite, nil, false},
	{"client", clientSuite("stdio"), clientBudgets("stdio"), false},
	{"client-http", clientSuite("HTTP"), clientBudgets("HTTP"), false},
	{"start", startSuite, nil, false},
	{"auth", authSuite, authBudgets(), false},
	{"http", httpSuite, httpBudgets, false},
	{"gateway", gatewaySuite, gatewayBudgets, false},
	{"gateway-http", gatewayHTTPSuite, gatewayHTTPBudgets(), false},
	{"http-load", httpLoadSuite, nil, false},
	{"gateway-load", gatewayLoadSuite, nil, false},
	{"scale", scaleSuite, nil, true},
	{"scale-load", scaleLoadSuite, nil, true},
	{"telemetry", telemetrySuite, nil, false},
	{"retrieval", retrievalSuite, nil, false},
	{"redis", redisSuite, nil, false},
	{"rules", rulesSuite, nil, false},
}

func main() {
	selection := flag.String("suite",
		"rpc,pipe,stdio,client,client-http,start,auth,http,gateway,gateway-http",
		"the suites to run, separated by commas")
	var o options
	flag.DurationVar(&o.time, "time", time.Second, "duration of each measurement")
	repeat := flag.Int("repeat", 3, "number of rounds")
	flag.BoolVar(&o.own, "own", false, "measure stdwire only, and what its rows refer to")
	flag.IntVar(&o.listeners, "listeners", 10_000,
		"idle subscriptions of the suite http-load, at most 100000")
	revision := flag.String("against", "",
		"compare stdwire of the work tree with stdwire of this commit")
	svg := flag.String("svg", "", "draw the numbers in this SVG file")
	save := flag.String("save", "", "write the numbers that are drawn to this JSON file")
	draw := flag.String("draw", "", "draw the numbers of this JSON file, and measure nothing")
	flag.StringVar(&o.profiles, "profile", "",
		"a folder for profiles of the servers of the HTTP suites and telemetry, and the clients")
	httpServer := flag.String("http-server", "",
		"run this server of the HTTP suites, until standard input ends")
	answers := flag.String("answer", "",
		"run the server that clients are measured with: stdio, or http until standard input ends")
	clientName := flag.String("client", "", "run this client, and print the cost of its calls")
	recorder := flag.String("recorder", "",
		"run the server of the suite telemetry that records this")
	transport := flag.String("transport", "stdio",
		"of that server: stdio, or http until standard input ends")
	loaded := flag.String("loaded", "",
		"run the server of the suite scale-load: stdio, or unix until standard input ends")
	copying := flag.Bool("copy", false,
		"start the server, and copy bytes between it and standard input and output")
	url := flag.String("url", "",
		"the URL of that client's server; without it, a server over stdio")
	era := flag.String("era", "modern", "era of that server or client")
	callers := flag.Int("callers", 1, "calls in flight of that client")
	size := flag.Int("size", 64, "size of the text of its calls, in bytes")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: unused argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	var role func() error
	switch {
	case *httpServer != "":
		role = func() error { return serveHTTP(*httpServer, o.profiles) }
	case *answers != "":
		role = func() error { return runEchoServer(*answers, *era) }
	case *recorder != "":
		role = func() error { return serveRecorded(*recorder, *transport, o.profiles) }
	case *loaded != "":
		role = func() error { return serveLoaded(*loaded, o.profiles) }
	case *copying:
		role = func() error { return copyBytes(*era) }
	case *clientName != "":
		role = func() error {
			return runClient(*clientName, *url, clientLoad{*era, *callers, *size}, o)
		}
	}
	if role != nil {
		if err := role(); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if *draw != "" {
		p, err := readPicture(*draw)
		if err == nil {
			err = writePicture(p, *svg, *save)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(1)
		}
		return
	}
	selected := strings.Split(*selection, ",")
	for _, name := range selected {
		if !slices.ContainsFunc(suites, func(s suite) bool { return s.name == name }) {
			fmt.Fprintf(os.Stderr, "bench: there is no suite %q\n", name)
			os.Exit(2)
		}
	}
	growing := slices.IndexFunc(suites, func(s suite) bool {
		return s.grows && slices.Contains(selected, s.name)
	})
	if growing >= 0 && len(selected) > 1 && (*svg != "" || *save != "") {
		fmt.Fprintf(os.Stderr, "bench: the suite %s has a picture of its own: run it alone\n",
			suites[growing].name)
		os.Exit(2)
	}
	if *revision != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := against(ctx, os.Stdout, *revision, selected, *repeat, o); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(1)
		}
		return
	}
	var drawn []measure
	for _, s := range suites {
		if !slices.Contains(selected, s.name) {
			continue
		}
		var rounds [][]measure
		for range *repeat {
			round, err := s.run(o)
			if err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.name, err)
				os.Exit(1)
			}
			rounds = append(rounds, round)
		}
		all, spreads := medians(rounds)
		print(s, all, spreads)
		drawn = append(drawn, all...)
	}
	f := figureOf(drawn)
	var p picture = &f
	if growing >= 0 {
		g := growthOf(drawn)
		p = &g
	}
	if err := writePicture(p, *svg, *save); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// medians returns the median of each measure over all rounds, and its least and greatest value as
// text.
func medians(rounds [][]measure) (result []measure, spreads []string) {
	result, spreads = slices.Clone(rounds[0]), make([]string, len(rounds[0]))
	for i := range result {
		var same []measure
		for _, round := range rounds {
			same = append(same, round[i])
		}
		slices.SortFunc(same, func(a, b measure) int { return cmp.Compare(a.value, b.value) })
		result[i] = same[len(same)/2]
		spreads[i] = fmt.Sprintf("%.4g–%.4g", same[0].value, same[len(same)-1].value)
	}
	return result, spreads
}

// print prints the measures and their spreads. The ratio is stdwire's number divided by the
// program's.
func print(s suite, all []measure, spreads []string) {
	ours := map[string]float64{}
	for _, m := range all {
		if m.program == "stdwire" {
			ours[m.what] = m.value
		}
	}
	fmt.Printf("\n%s\n", s.name)
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	for i, m := range all {
		ratio := "-"
		if m.program != "stdwire" && m.value > 0 {
			ratio = fmt.Sprintf("stdwire: %.2f×", ours[m.what]/m.value)
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g %s\t%s\t%s\t%s\n", m.what, m.program, m.value, m.unit,
			spreads[i], m.extra, ratio)
	}
	w.Flush()
	for _, b := range s.budgets {
		i := slices.IndexFunc(all,
			func(m measure) bool { return m.what == b.what && m.program == b.program })
		if i < 0 { // with -own
			continue
		}
		ratio, verdict, bound := ours[b.what]/all[i].value, "kept", "at most"
		missed := ratio > b.ratio
		if all[i].rate {
			bound, missed = "at least", ratio < b.ratio
		}
		if missed {
			verdict = "MISSED"
		}
		fmt.Printf("budget: %s, %s %g× %s: %.2f×, %s\n", b.what, bound, b.ratio, b.program, ratio,
			verdict)
	}
}
