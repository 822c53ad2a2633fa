// Package grep finds the lines that match a regular expression, in many files at once.
package grep

import (
	"context"
	"io/fs"
	"os"
	"regexp"
	"sync"
)

// A Search passes files to workers, and collects their results in the order of the files. Add,
// Finish and Stop must be called from one goroutine.
type Search struct {
	ctx     context.Context
	cancel  context.CancelFunc
	jobs    chan *job
	workers sync.WaitGroup
	pending []*job // passed to workers and not collected; at most cap(jobs)
	max     int    // matches
	bytes   int    // of text in out
	out     Output
}

// A job is the search of one file.
type job struct {
	name   string
	done   chan struct{} // closed when the fields below are set
	result scanResult
	err    error
	panic  any
}

// Search starts a search for a regular expression in files of root, with some lines around each of
// at most limit matches. The caller must call Stop.
func (s *Slots) Search(ctx context.Context, root *os.Root, re *regexp.Regexp, around,
	limit int) *Search {
	return s.search(ctx, &scanner{root: root, re: re, context: around, limit: limit + 1}, limit)
}

func (s *Slots) search(ctx context.Context, sc *scanner, limit int) *Search {
	n := s.workers()
	all := &Search{jobs: make(chan *job, 2*n), max: limit, out: Output{Matches: []Match{}}}
	all.ctx, all.cancel = context.WithCancel(ctx)
	for range n {
		all.workers.Go(func() {
			for j := range all.jobs {
				j.run(all.ctx, sc, s)
			}
		})
	}
	return all
}

func (j *job) run(ctx context.Context, sc *scanner, slots *Slots) {
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

// Add passes a file to the workers. If too many are pending, it collects the first one. The error
// is fs.SkipAll if the result is full.
func (s *Search) Add(name string) error {
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
func (s *Search) collect() error {
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
			return fs.SkipAll
		}
		s.out.Matches = append(s.out.Matches, m)
		s.bytes += m.size()
	}
	s.out.Truncated = s.out.Truncated || j.result.truncated
	return nil
}

// Finish collects the pending files and returns the result.
func (s *Search) Finish() (Output, error) {
	for len(s.pending) > 0 {
		if err := s.collect(); err == fs.SkipAll {
			break
		} else if err != nil {
			return Output{}, err
		}
	}
	return s.out, nil
}

// Stop ends the workers and waits for them.
func (s *Search) Stop() {
	s.cancel()
	close(s.jobs)
	s.workers.Wait()
}
