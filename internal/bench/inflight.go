package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// An inFlightRun is what calls cost of which several were in flight.
type inFlightRun struct {
	times   []time.Duration // of each call, sorted; with the wait for the server to read it
	late    []int           // by how many places each response was behind its call; sorted
	took    time.Duration
	cpu     time.Duration // of the server
	peakRSS float64       // of the server, in MiB
}

func (r *inFlightRun) rate() float64 { return float64(len(r.times)) / r.took.Seconds() }

func (r *inFlightRun) quantile(q float64) time.Duration {
	return quantile(r.times, q)
}

// quantile returns the least of the sorted times that at least the part q of them does not exceed:
// the slowest one if there are few.
func quantile(times []time.Duration, q float64) time.Duration {
	return times[max(0, int(math.Ceil(q*float64(len(times))))-1)]
}

// measure returns the rate of the calls.
func (r *inFlightRun) measure(what, program string) measure {
	return measure{what, program, r.rate(), "calls/s", true, fmt.Sprintf(
		"%.1f µs CPU a call, p50 %.3g, p90 %.3g, p99 %.3g, max %.3g ms, "+
			"late by p99 %d, max %d places, peak RSS %.0f MiB",
		float64(r.cpu.Microseconds())/float64(len(r.times)), milliseconds(r.quantile(0.5)),
		milliseconds(r.quantile(0.9)), milliseconds(r.quantile(0.99)),
		milliseconds(r.quantile(1)), r.late[(len(r.late)-1)*99/100], r.late[len(r.late)-1],
		r.peakRSS)}
}

// inFlight keeps n calls in flight for about d, and ends the server. The id in frame is 1.
func (p *process) inFlight(n int, frame []byte, d time.Duration) (*inFlightRun, error) {
	r, err := p.keepInFlight(n, frame, d)
	if err == nil {
		r.peakRSS, err = p.memory("VmHWM")
	}
	if err != nil {
		return nil, errors.Join(err, p.cmd.Process.Kill())
	}
	r.cpu = p.stop()
	return r, nil
}

// keepInFlight keeps n calls in flight for about d, and then reads the responses that are left. The
// id in frame is 1.
func (p *process) keepInFlight(n int, frame []byte, d time.Duration) (*inFlightRun, error) {
	// One goroutine writes requests up to n in flight, with one Write for several; the other reads
	// responses, one for each value of sent, and returns their ids. A server refuses an id that is
	// in flight.
	sent := make(chan struct{}, n-1)
	ids := make(chan int, n)
	began, place := make([]time.Time, n+1), make([]int, n+1) // of the call with an id
	for id := range n {
		began[id+1] = time.Now()
		ids <- id + 1
	}
	failed := make(chan error, 1)
	call := newNumberedCall(frame)
	r := &inFlightRun{}
	begin := time.Now()
	go func() {
		defer close(sent)
		var batch []byte
		calls := 0
		for now := begin; now.Sub(begin) < d; now = time.Now() {
			batch = batch[:0]
			for {
				sent <- struct{}{}
				id := <-ids
				place[id] = calls
				calls++
				batch = call.append(batch, id)
				if len(sent) == cap(sent) || len(batch) > 256<<10 {
					break
				}
			}
			if _, err := p.out.Write(batch); err != nil {
				failed <- err
				return
			}
		}
	}()
	for range sent {
		response, err := p.response()
		if err != nil {
			return nil, err
		}
		id, err := responseID(response)
		if err != nil || id < 1 || id > n {
			return nil, fmt.Errorf("no id of a call is in %.100q", response)
		}
		now := time.Now()
		r.late = append(r.late, len(r.late)-place[id])
		r.times = append(r.times, now.Sub(began[id]))
		began[id] = now // the next call with this id
		ids <- id
	}
	r.took = time.Since(begin)
	slices.Sort(r.times)
	slices.Sort(r.late)
	select {
	case err := <-failed:
		return nil, err
	default:
	}
	return r, nil
}

// A numberedCall is a call that is sent with different ids, because a server refuses an id that is
// in flight.
type numberedCall struct{ head, tail []byte }

// newNumberedCall returns the call of a frame, whose id is 1.
func newNumberedCall(frame []byte) numberedCall {
	head, tail, _ := bytes.Cut(frame, []byte(`"id":1,`))
	return numberedCall{head, tail}
}

func (c numberedCall) append(dst []byte, id int) []byte {
	dst = append(append(dst, c.head...), `"id":`...)
	return append(append(strconv.AppendInt(dst, int64(id), 10), ','), c.tail...)
}

// responseID returns the id of a response, which must be a number near its beginning.
func responseID(response []byte) (int, error) {
	_, id, _ := bytes.Cut(response[:min(len(response), 100)], []byte(`"id":`))
	end := bytes.IndexAny(id, ",}")
	return strconv.Atoi(string(id[:max(end, 0)]))
}
