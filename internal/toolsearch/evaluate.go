package toolsearch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Question is a query of which it is known which tools answer it.
type Question struct {
	Query string
	Tools []string // their names; none if no tool does
	Class string   // a kind of questions; "" for none
}

const maxQuestion = 1 << 20 // bytes of a line

// ReadQuestions reads a JSON object a line, with the members query, tools and, optionally, class:
//
//	{"query": "open a pull request", "tools": ["github__create_pull_request"]}
//
// It ignores empty lines and other members. An error names the line.
func ReadQuestions(r io.Reader) ([]Question, error) {
	var all []Question
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxQuestion)
	n := 1
	for ; lines.Scan(); n++ {
		if jsonscan.Space(lines.Bytes(), 0) == len(lines.Bytes()) {
			continue
		}
		q, err := readQuestion(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, q)
	}
	err := lines.Err()
	if err == bufio.ErrTooLong {
		err = errors.New("it is longer than 1 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return all, nil
}

func readQuestion(line []byte) (q Question, err error) {
	if err := jsonscan.Valid(line); err != nil {
		return q, err
	}
	var ok bool
	if q.Query, ok = jsonscan.Text(jsonscan.Member(line, "query")); !ok {
		return q, errors.New(`"query" is not a string`)
	}
	q.Class, _ = jsonscan.Text(jsonscan.Member(line, "class"))
	tools := jsonscan.Member(line, "tools")
	if len(tools) == 0 || tools[0] != '[' {
		return q, errors.New(`"tools" is not an array of names; it is [] if no tool answers`)
	}
	for element := range jsonscan.Elements(tools) {
		name, ok := jsonscan.Text(element)
		if !ok {
			return q, errors.New(`"tools" has an element that is not a string`)
		}
		q.Tools = append(q.Tools, name)
	}
	return q, nil
}

var depths = [...]int{1, 3, 5, 10}

// Depths returns the numbers of first hits among which answers are counted.
func Depths() [len(depths)]int { return depths }

// An Outcome is how well a search answered a question.
type Outcome struct {
	Answerable bool  // the question has tools; else only None counts
	None       bool  // there were no hits
	Places     []int // of the tools among the hits, from 1; 0 for a tool that is not a hit
	// Recall is the share of the tools that are among the first hits, for each of [Depths].
	Recall [len(depths)]float64
	// Reciprocal is 1 divided by the place of the first hit that is one of the tools, or 0.
	Reciprocal float64
}

// Judge compares the hits of a search with the tools that answer the question. Each hit is the
// names of a tool, one of which may be in Tools.
func (q *Question) Judge(hits [][]string) Outcome {
	o := Outcome{Answerable: len(q.Tools) > 0, None: len(hits) == 0}
	for _, tool := range q.Tools {
		place := 1 + slices.IndexFunc(hits, func(names []string) bool {
			return slices.Contains(names, tool)
		})
		o.Places = append(o.Places, place)
		if place == 0 {
			continue
		}
		o.Reciprocal = max(o.Reciprocal, 1/float64(place))
		for i, depth := range depths {
			if place <= depth {
				o.Recall[i] += 1 / float64(len(q.Tools))
			}
		}
	}
	return o
}

// A Summary is the mean of outcomes. Those of answerable questions: Recall, All5 and MRR.
type Summary struct {
	Answerable, Others int // numbers of questions
	Recall             [len(depths)]float64
	All5               float64 // the share of questions of which all tools are among the first five
	MRR                float64 // mean reciprocal rank
	Silent             float64 // the share of answerable questions without a hit
	NoMatch            float64 // the share of the others without a hit
}

// Summarize returns the means of outcomes, 0 without any.
func Summarize(outcomes []Outcome) (s Summary) {
	share := func(sum *float64, n int) { *sum /= float64(max(n, 1)) }
	one := map[bool]float64{true: 1}
	for _, o := range outcomes {
		if !o.Answerable {
			s.Others++
			s.NoMatch += one[o.None]
			continue
		}
		s.Answerable++
		for i := range s.Recall {
			s.Recall[i] += o.Recall[i]
		}
		s.All5 += one[o.Recall[2] > 1-1e-9]
		s.MRR += o.Reciprocal
		s.Silent += one[o.None]
	}
	for i := range s.Recall {
		share(&s.Recall[i], s.Answerable)
	}
	share(&s.All5, s.Answerable)
	share(&s.MRR, s.Answerable)
	share(&s.Silent, s.Answerable)
	share(&s.NoMatch, s.Others)
	return s
}
