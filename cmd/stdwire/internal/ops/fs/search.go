package fs

import (
	"context"
	"encoding/json"
	"io/fs"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// maxFound is how much text a search returns at most, in bytes, but for the last file's last match.
const maxFound = 1 << 20

var searchSpec = dispatch.Spec{
	Name:    "fs.search",
	Title:   "Search files",
	Summary: "Find the lines that match a regular expression, in a file or in all files below a directory.",
	Description: "Find the lines that match a regular expression (RE2) or, with literal, hold a text, in one file or all files below a directory. " +
		"Binary files, symbolic links and .git directories are left out. Of a line, the first 256 KiB are searched.",
	Kind:       dispatch.Read,
	Idempotent: true,
	Timeout:    2 * time.Minute,
	Examples: []dispatch.Example{
		{Summary: "Go functions named Open…", Input: json.RawMessage(`{"pattern":"^func (\\(.*\\) )?Open","glob":"*.go"}`)},
		{Summary: "A text, with the lines around it", Input: json.RawMessage(`{"pattern":"TODO(","literal":true,"context":2}`)},
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
	r, err := rs.instances.Get(in.Instance.Instance)
	if err != nil {
		return out, err
	}
	name, err := r.clean(in.Path)
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
	if err := dispatch.Reserve(ctx, int64(rs.turns.workers())*maxLine); err != nil {
		return out, err
	}
	s := newSearch(ctx, &scanner{root: r, re: re, context: in.Context, limit: in.MaxResults + 1}, rs.turns, in.MaxResults)
	defer s.stop()
	if !info.IsDir() {
		if err := regular(name, info); err != nil {
			return out, err
		}
		if err := s.add(name); err != nil {
			return out, r.fail("search", name, err)
		}
		return s.finish()
	}
	w := walk{root: r, limits: usualLimits, recursive: true, exclude: exclude}
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

// A search hands files to workers, and gathers what they find in the order in which the files were added. add, finish and stop are
// for one goroutine.
type search struct {
	ctx     context.Context
	cancel  context.CancelFunc
	jobs    chan *job
	workers sync.WaitGroup
	pending []*job // handed out and not gathered, no more than jobs has room for
	max     int    // matches
	bytes   int    // of text in out
	out     SearchOutput
}

// A job is the searching of one file.
type job struct {
	name  string
	done  chan struct{} // closed when the rest is set
	found found
	err   error
	panic any
}

func newSearch(ctx context.Context, sc *scanner, turns *turns, limit int) *search {
	n := turns.workers()
	s := &search{jobs: make(chan *job, 2*n), max: limit, out: SearchOutput{Matches: []Match{}}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	for range n {
		s.workers.Go(func() {
			for j := range s.jobs {
				j.run(s.ctx, sc, turns)
			}
		})
	}
	return s
}

func (j *job) run(ctx context.Context, sc *scanner, turns *turns) {
	defer close(j.done)
	defer func() { j.panic = recover() }() // for the caller's goroutine, where the dispatcher catches it
	t, err := turns.begin(ctx)
	if err != nil {
		j.err = err
		return
	}
	defer t.end()
	j.found, j.err = sc.scan(ctx, j.name, t)
}

// add has a file searched, and waits for the first ones if too many are under way. The error is errEnough if no more are wanted.
func (s *search) add(name string) error {
	if len(s.pending) == cap(s.jobs) {
		if err := s.gather(); err != nil {
			return err
		}
	}
	j := &job{name: name, done: make(chan struct{})}
	s.pending = append(s.pending, j)
	s.jobs <- j
	return nil
}

// gather takes in what was found in the first file that is pending.
func (s *search) gather() error {
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
	case !j.found.binary:
		s.out.Searched++
	}
	for _, m := range j.found.matches {
		if len(s.out.Matches) == s.max || s.bytes > maxFound {
			s.out.Truncated = true
			return errEnough
		}
		s.out.Matches = append(s.out.Matches, m)
		s.bytes += m.size()
	}
	s.out.Truncated = s.out.Truncated || j.found.cut
	return nil
}

// finish waits for what is pending and returns all that was found.
func (s *search) finish() (SearchOutput, error) {
	for len(s.pending) > 0 {
		if err := s.gather(); err == errEnough {
			break
		} else if err != nil {
			return SearchOutput{}, err
		}
	}
	return s.out, nil
}

// stop ends the workers, and returns when they have ended.
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
