package tapcmd

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

func TestTapLines(t *testing.T) {
	message := func(text string) tap.Record {
		return tap.Record{N: 1, From: tap.FromServer, Seconds: 61.5, Frame: json.RawMessage(text),
			Message: tap.Message{Type: tap.Response, Method: "tools/call", Subject: "a",
				ID: json.RawMessage(`"x"`), RequestFrame: 1, Ms: 1.5, Size: 2000}}
	}
	failed := message(`{"error":{"message":"no\n\u001b[31mway"}}`)
	failed.Failed = "error -1"
	isError := message(
		`{"result":{"content":[{"type":"image"},{"type":"text","text":"disk full"}]}}`)
	isError.Failed = "isError"
	unasked := message(`{}`)
	unasked.RequestFrame = 0
	otherID := message(`{}`)
	otherID.ID, otherID.RequestID = json.RawMessage(`"7"`), json.RawMessage(`7`)
	request := message(`{}`)
	request.From, request.Type, request.SHA256 = tap.FromClient, tap.Request, "00"
	batch := message(`[{},{}]`)
	batch.Messages, batch.Type = []tap.Message{{Type: tap.Notification, Method: "n", Size: 2},
		{Type: tap.Junk, Size: 2}}, tap.Batch
	for want, r := range map[string]tap.Record{
		`←     61.500 #"x" tools/call a 1.50 ms 2.0 kB`:                                             message(`{}`),
		`← !   61.500 #"x" tools/call a 1.50 ms 2.0 kB error -1: no way`:                            failed,
		`← !   61.500 #"x" tools/call a 1.50 ms 2.0 kB isError: disk full`:                          isError,
		`← ?   61.500 #"x" tools/call a answers nothing 2.0 kB`:                                     unasked,
		`← ?   61.500 #"7" tools/call a 1.50 ms for #7, whose id it has in another notation 2.0 kB`: otherID,
		`→     61.500 #"x" tools/call a 2.0 kB (cut)`:                                               request,
		"←     61.500 n 2 B\n← ?   61.500 no message 2 B: {}":                                       batch,
		`← ?    0.000 no message 5 B (unfinished): a \u202e`: {N: 1,
			From: tap.FromServer, Text: "a\n\u202e", Partial: true,
			Message: tap.Message{Type: tap.Junk, Size: 5}},
		"-- 3 frames are missing: too many arrived at a time": {Lost: 3,
			Message: tap.Message{Type: tap.Dropped}},
		"-- the recording has reached its maximum size; later frames are missing": {
			Message: tap.Message{Type: tap.Full}},
		"-- ended after 2.000 s with exit status 3": {Seconds: 2, EndNote: &tap.EndNote{Status: 3},
			Message: tap.Message{Type: tap.End}},
		"": {Message: tap.Message{Type: tap.Start}},
	} {
		assert.Equal(t, strings.Join(tapLines(&r), "\n"), want)
	}
	c := termtest.Capture(true)
	long := message(`{}`)
	long.Method = strings.Repeat("ü", 200)
	v := newLiveView(c.Streams.Err)
	v.show(&long)
	assert.Assert(t, v.close())
	line := c.Stderr.String()
	assert.Assert(t, strings.HasSuffix(line, "ü…\n"))
	// as wide as the terminal, of which there may be none here
	assert.Assert(t, utf8.RuneCountInString(line) < 200)
}

// A view that is stuck holds nobody up.
func TestLiveViewNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		v := newLiveView(&term.Console{W: w})
		show := func() {
			v.show(&tap.Record{From: tap.FromClient,
				Message: tap.Message{Type: tap.Notification, Method: "m"}})
		}
		show()
		synctest.Wait() // it is written now, which nobody reads; so no later one leaves the queue
		for range 5000 {
			show()
		}
		assert.Assert(t, v.dropped > 3000, v.dropped)
		reader := bufio.NewReader(r)
		for range 1000 {
			_, err := reader.ReadString('\n')
			assert.NilError(t, err)
		}
		synctest.Wait()
		show()
		assert.Equal(t, v.dropped, 0)
		assert.Assert(t, !v.close())
		go io.Copy(io.Discard, reader)
		<-v.done
		assert.NilError(t, w.Close())
	})
}
