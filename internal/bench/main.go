// Command bench measures stdwire beside its peers, in one run on one machine, and prints a table with the ratios.
//
//	go run . [-suite rpc,pipe,stdio,client,client-http,start,auth,http,gateway,gateway-http] [-time 1s] [-repeat 3] [-profile DIR]
//	go run . -suite http-load -time 60s -repeat 1
//	go run . -suite gateway-load -repeat 1
//
// The absolute numbers are the machine's; the ratios are what to look at. Each number is the median of the repeats, which take turns, so that
// a busy moment hits all programs alike. The suite gateway-http measures TBXark's mcp-proxy too, if STDWIRE_BENCH_MCP_PROXY has the path of its binary. With -profile, the servers of the HTTP suites and the clients write pprof profiles: NAME.cpu and NAME.allocs.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A measure is one number of one program: lower is better, unless rate is set.
type measure struct {
	what, program string
	value         float64
	unit          string
	rate          bool
	extra         string // shown as it is, such as allocations
}

// A budget is how many times another program's rate stdwire's has to be at least, or what part of its cost stdwire's may be at most.
type budget struct {
	what, program string
	ratio         float64
}

type options struct {
	time     time.Duration // to measure each number
	profiles string        // a folder for profiles of the servers, "" for none
}

// A suite measures all its programs once.
type suite struct {
	name    string
	run     func(o options) ([]measure, error)
	budgets []budget
}

var suites = []suite{
	{"rpc", timed(rpcSuite), nil},
	{"pipe", timed(pipeSuite), nil},
	{"stdio", timed(stdioSuite), nil},
	{"client", clientSuite("stdio"), clientBudgets("stdio")},
	{"client-http", clientSuite("HTTP"), clientBudgets("HTTP")},
	{"start", timed(startSuite), nil},
	{"auth", timed(authSuite), authBudgets()},
	{"http", httpSuite, httpBudgets},
	{"gateway", gatewaySuite, gatewayBudgets},
	{"gateway-http", gatewayHTTPSuite, gatewayHTTPBudgets()},
	{"http-load", httpLoadSuite, nil},
	{"gateway-load", gatewayLoadSuite, nil},
}

// timed is a suite that needs to know no more than the time.
func timed(run func(d time.Duration) ([]measure, error)) func(options) ([]measure, error) {
	return func(o options) ([]measure, error) { return run(o.time) }
}

func main() {
	only := flag.String("suite", "rpc,pipe,stdio,client,client-http,start,auth,http,gateway,gateway-http", "the suites to run, separated by commas")
	var o options
	flag.DurationVar(&o.time, "time", time.Second, "how long to measure each number")
	repeat := flag.Int("repeat", 3, "how often")
	flag.StringVar(&o.profiles, "profile", "", "a folder for profiles of the HTTP servers and the clients")
	httpServer := flag.String("http-server", "", "be this server of the HTTP suites, until standard input ends")
	answers := flag.String("answer", "", "be the server that clients are measured with: stdio, or http until standard input ends")
	clientName := flag.String("client", "", "be this client, and print what its calls cost")
	copying := flag.Bool("copy", false, "copy bytes between standard input and output and that server over stdio, until standard input ends")
	url := flag.String("url", "", "the server of that client; one over stdio if there is none")
	era := flag.String("era", "modern", "of that server or client")
	callers := flag.Int("callers", 1, "how many calls of that client are in flight")
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
		role = func() error { return answer(*answers, *era) }
	case *copying:
		role = func() error { return copyBytes(*era) }
	case *clientName != "":
		role = func() error { return runClient(*clientName, *url, *era, *callers, o) }
	}
	if role != nil {
		if err := role(); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			os.Exit(1)
		}
		return
	}
	wanted := strings.Split(*only, ",")
	for _, s := range suites {
		if !slices.Contains(wanted, s.name) {
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
		print(s, medians(rounds))
	}
}

// medians takes the middle one of each measure over all rounds.
func medians(rounds [][]measure) []measure {
	result := slices.Clone(rounds[0])
	for i := range result {
		var same []measure
		for _, round := range rounds {
			same = append(same, round[i])
		}
		slices.SortFunc(same, func(a, b measure) int { return cmp.Compare(a.value, b.value) })
		result[i] = same[len(same)/2]
	}
	return result
}

// print shows all measures; the ratio is stdwire's to that program: its time as a part of theirs, or its rate as a multiple of theirs.
func print(s suite, all []measure) {
	ours := map[string]float64{}
	for _, m := range all {
		if m.program == "stdwire" {
			ours[m.what] = m.value
		}
	}
	fmt.Printf("\n%s\n", s.name)
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	for _, m := range all {
		ratio := "-"
		if m.program != "stdwire" && m.value > 0 {
			ratio = fmt.Sprintf("stdwire: %.2f×", ours[m.what]/m.value)
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g %s\t%s\t%s\n", m.what, m.program, m.value, m.unit, m.extra, ratio)
	}
	w.Flush()
	for _, b := range s.budgets {
		i := slices.IndexFunc(all, func(m measure) bool { return m.what == b.what && m.program == b.program })
		ratio, verdict, bound := ours[b.what]/all[i].value, "kept", "at most"
		missed := ratio > b.ratio
		if all[i].rate {
			bound, missed = "at least", ratio < b.ratio
		}
		if missed {
			verdict = "MISSED"
		}
		fmt.Printf("budget: %s, %s %g× %s: %.2f×, %s\n", b.what, bound, b.ratio, b.program, ratio, verdict)
	}
}
