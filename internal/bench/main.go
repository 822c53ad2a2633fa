// Command bench measures stdwire beside its peers, in one run on one machine, and prints a table with the ratios.
//
//	go run . [-suite rpc,pipe,stdio,client,start] [-time 1s] [-repeat 3]
//
// The absolute numbers are the machine's; the ratios are what to look at. Each number is the median of the repeats, which take turns, so that
// a busy moment hits all programs alike.
package main

import (
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

// A suite measures all its programs once.
type suite struct {
	name string
	run  func(d time.Duration) ([]measure, error)
}

var suites = []suite{
	{"rpc", rpcSuite},
	{"pipe", pipeSuite},
	{"stdio", stdioSuite},
	{"client", clientSuite},
	{"start", startSuite},
}

func main() {
	only := flag.String("suite", "rpc,pipe,stdio,client,start", "the suites to run, separated by commas")
	duration := flag.Duration("time", time.Second, "how long to measure each number")
	repeat := flag.Int("repeat", 3, "how often")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: unused argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	wanted := strings.Split(*only, ",")
	for _, s := range suites {
		if !slices.Contains(wanted, s.name) {
			continue
		}
		var rounds [][]measure
		for range *repeat {
			round, err := s.run(*duration)
			if err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.name, err)
				os.Exit(1)
			}
			rounds = append(rounds, round)
		}
		print(s.name, medians(rounds))
	}
}

// medians takes the middle value of each measure over all rounds.
func medians(rounds [][]measure) []measure {
	result := slices.Clone(rounds[0])
	for i := range result {
		var values []float64
		for _, round := range rounds {
			values = append(values, round[i].value)
		}
		slices.Sort(values)
		result[i].value = values[len(values)/2]
	}
	return result
}

// print shows all measures; the ratio is stdwire's to that program: its time as a part of theirs, or its rate as a multiple of theirs.
func print(name string, all []measure) {
	ours := map[string]float64{}
	for _, m := range all {
		if m.program == "stdwire" {
			ours[m.what] = m.value
		}
	}
	fmt.Printf("\n%s\n", name)
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	for _, m := range all {
		ratio := "-"
		if m.program != "stdwire" && m.value > 0 {
			ratio = fmt.Sprintf("stdwire: %.2f×", ours[m.what]/m.value)
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g %s\t%s\t%s\n", m.what, m.program, m.value, m.unit, m.extra, ratio)
	}
	w.Flush()
}
