package fs

import (
	"context"
	"encoding/json"
	"io/fs"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// maxResultText is the maximum text of a result in bytes; the last match of the last file may
// exceed it.
const maxResultText = 1 << 20

var searchSpec = dispatch.Spec{
	Name:    "fs.search",
	Title:   "Search files",
	Summary: "Find the lines that match a regular expression, in a file or in all files below a directory.",
	Description: "Find the lines that match a regular expression (RE2) or, with literal, hold a text, in one file or all files below a directory. " +
		"Binary files, symbolic links and .git directories are left out. Of a line, the first 256 KiB are searched.",
	Type:       dispatch.Read,
	Idempotent: true,
	Timeout:    2 * time.Minute,
	Examples: []dispatch.Example{
		{Summary: "Go functions named Open…",
			Input: json.RawMessage(`{"pattern":"^func (\\(.*\\) )?Open","glob":"*.go"}`)},
		{Summary: "A text, with the lines around it",
			Input: json.RawMessage(`{"pattern":"TODO(","literal":true,"context":2}`)},
	},
}

// SearchInput are the arguments of fs.search.
type SearchInput struct {
	dispatch.Instance
	Pattern         string   `json:"pattern" doc:"Regular expression (RE2), matched against one line at a time." minLength:"1" maxLength:"4096"`
	Literal         bool     `json:"literal,omitempty" doc:"Take pattern as plain text."`
	CaseInsensitive bool     `json:"case_insensitive,omitempty" doc:"Do not tell upper from lower case."`
	Path            string   `json:"path,omitempty" doc:"Directory or file to search, relative to the root." default:"."`
	Glob            string   `json:"glob,omitempty" doc:"Search only files that match: *.go by name at any depth, or src/**/*.{ts,tsx} by path from the directory searched." maxLength:"1024"`
	Exclude         []string `json:"exclude,omitempty" doc:"Globs of files to leave out, and directories not to enter: node_modules." maxItems:"32"`
	Context         int      `json:"context,omitempty" doc:"How many lines to return before and after each match." min:"0" max:"10"`
	MaxResults      int      `json:"max_results,omitempty" doc:"How many matching lines to return at most." default:"200" min:"1" max:"2000"`
}

// SearchOutput is the data of fs.search.
type SearchOutput struct {
	Matches   []Match `json:"matches" doc:"By path, then line."`
	Searched  int     `json:"searched" doc:"How many files were searched. Binary files, with NUL in their first 8 KiB, are not."`
	Truncated bool    `json:"truncated" doc:"There may be more; search a directory below, use glob or exclude, or raise max_results."`
	Skipped   int     `json:"skipped,omitempty" doc:"Files and directories that could not be read."`
}

// A Match is a line that the pattern matches.
type Match struct {
	Path   string   `json:"path" doc:"Relative to the root."`
	Line   int      `json:"line" doc:"Counted from 1."`
	Column int      `json:"column" doc:"Of the first match in the line, in bytes, counted from 1."`
	Text   string   `json:"text" doc:"The line. A long one is cut, with … in place of what is left out."`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

func (rs *Roots) search(ctx context.Context, in SearchInput) (out SearchOutput, err error) {
	r, name, err := rs.locate(in.Instance.Instance, in.Path)
	if err != nil {
		return out, err
	}
	match, exclude, err := globs(in.Glob, in.Exclude)
	if err != nil {
		return out, err
	}
	re, err := compilePattern(in)
	if err != nil {
		return out, err
	}
	info, err := r.dir.Stat(name)
	if err != nil {
		return out, r.fail("search", name, err)
	}
	if err := dispatch.Reserve(ctx, int64(rs.slots.workers())*maxLine); err != nil {
		return out, err
	}
	s := newSearch(ctx, &scanner{root: r, re: re, context: in.Context, limit: in.MaxResults + 1},
		rs.slots, in.MaxResults)
	defer s.stop()
	if !info.IsDir() {
		if err := checkRegular(name, info.Mode()); err != nil {
			return out, err
		}
		if err := s.add(name); err != nil {
			return out, r.fail("search", name, err)
		}
		return s.finish()
	}
	w := walk{root: r, limits: defaultWalkLimits, recursive: true, exclude: exclude}
	w.visit = func(name, relative string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || !match.match(relative) {
			return nil
		}
		return s.add(name)
	}
	if err := w.from(ctx, name); err != nil {
		return out, r.fail("search", name, err)
	}
	s.out.Skipped += w.skipped
	s.out.Truncated = s.out.Truncated || w.truncated
	return s.finish()
}

// A search passes files to workers, and collects their results in the order of the files. add,
// finish and stop must be called from one goroutine.
type search struct {
	ctx     context.Context
	cancel  context.CancelFunc
	jobs    chan *job
	workers sync.WaitGroup
	pending []*job // passed to workers and not collected; at most cap(jobs)
	max     int    // matches
	bytes   int    // of text in out
	out     SearchOutput
}

// A job is the search of one file.
type job struct {
	name   string
	done   chan struct{} // closed when the fields below are set
	result scanResult
	err    error
	panic  any
}

func newSearch(ctx context.Context, sc *scanner, slots *slots, limit int) *search {
	n := slots.workers()
	s := &search{jobs: make(chan *job, 2*n), max: limit, out: SearchOutput{Matches: []Match{}}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	for range n {
		s.workers.Go(func() {
			for j := range s.jobs {
				j.run(s.ctx, sc, slots)
			}
		})
	}
	return s
}

func (j *job) run(ctx context.Context, sc *scanner, slots *slots) {
	defer close(j.done)
	defer func() { j.panic = recover() }() // collect passes it on, to where the dispatcher recovers
	slot, err := slots.begin(ctx)
	if err != nil {
		j.err = err
		return
	}
	defer slot.end()
	j.result, j.err = sc.scan(ctx, j.name, slot)
}

// add passes a file to the workers. If too many are pending, it collects the first one. The error
// is errStop if the result is full.
func (s *search) add(name string) error {
	if len(s.pending) == cap(s.jobs) {
		if err := s.collect(); err != nil {
			return err
		}
	}
	j := &job{name: name, done: make(chan struct{})}
	s.pending = append(s.pending, j)
	s.jobs <- j
	return nil
}

// collect adds the result of the first pending file.
func (s *search) collect() error {
	j := s.pending[0]
	s.pending = s.pending[1:]
	<-j.done
	switch {
	case j.panic != nil:
		panic(j.panic)
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case j.err != nil:
		s.out.Skipped++
	case !j.result.binary:
		s.out.Searched++
	}
	for _, m := range j.result.matches {
		if len(s.out.Matches) == s.max || s.bytes > maxResultText {
			s.out.Truncated = true
			return errStop
		}
		s.out.Matches = append(s.out.Matches, m)
		s.bytes += m.size()
	}
	s.out.Truncated = s.out.Truncated || j.result.truncated
	return nil
}

// finish collects the pending files and returns the result.
func (s *search) finish() (SearchOutput, error) {
	for len(s.pending) > 0 {
		if err := s.collect(); err == errStop {
			break
		} else if err != nil {
			return SearchOutput{}, err
		}
	}
	return s.out, nil
}

// stop ends the workers and waits for them.
func (s *search) stop() {
	s.cancel()
	close(s.jobs)
	s.workers.Wait()
}

func (m *Match) size() int {
	n := len(m.Path) + len(m.Text)
	for _, lines := range [][]string{m.Before, m.After} {
		for _, line := range lines {
			n += len(line)
		}
	}
	return n
}
