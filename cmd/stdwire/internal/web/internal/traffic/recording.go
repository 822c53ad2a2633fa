package traffic

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

// Load adds a recording of stdwire tap as a new lane. If the recording ends early, note says so.
func (t *Traffic) Load(name string, recording io.Reader) (note string, err error) {
	reader := tap.NewReader(recording)
	var c *Connection
	for {
		r, _, err := reader.Next()
		switch {
		case err == io.EOF:
			return "", nil
		case errors.Is(err, tap.ErrTruncated):
			return err.Error(), nil
		case err != nil:
			return "", err
		}
		if r.Type == tap.Start {
			c = t.Connect(t.freeLane(name), r.At, r.Command)
		}
		if r.N > 0 {
			t.Add(c, r)
		}
	}
}

// freeLane returns name, with a number if there is such a lane.
func (t *Traffic) freeLane(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	name = strings.Join(strings.Fields(filepath.Base(name)), "_") // filters split at spaces
	for i, free := 2, name; ; i++ {
		if t.lanes[free] == nil {
			return free
		}
		free = name + "-" + strconv.Itoa(i)
	}
}

// WriteRecording writes the messages of a connection as a recording of stdwire tap.
func (t *Traffic) WriteRecording(w io.Writer, c *Connection) error {
	return t.records(c, func(r *tap.Record) error {
		line, err := r.Append(nil)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
}

// WriteTraces writes the requests of a connection as stdwire tap traces does.
func (t *Traffic) WriteTraces(w io.Writer, c *Connection) error {
	traces := tap.NewTraces(w)
	if err := t.records(c, traces.Add); err != nil {
		return err
	}
	return traces.Close()
}

// records calls write with each record of a recording of a connection, until write fails.
func (t *Traffic) records(c *Connection, write func(*tap.Record) error) error {
	all := t.messagesOf(c)
	err := write(&tap.Record{At: c.opened, Message: tap.Message{Type: tap.Start},
		StartNote: &tap.StartNote{Version: tap.Version, Command: c.command}})
	end := tap.EndNote{}
	if err == nil && len(all) > 0 && all[0].Record.N > 1 { // the older ones are not kept any more
		end.Missing = all[0].Record.N - 1
		err = write(&tap.Record{Message: tap.Message{Type: tap.Dropped}, Lost: end.Missing})
	}
	for _, m := range all {
		if err != nil {
			return err
		}
		bytes := &end.ServerBytes
		if m.From == tap.FromClient {
			bytes = &end.ClientBytes
		}
		*bytes += m.Size
		err = write(m.Record)
	}
	if err != nil || len(all) == 0 {
		return err
	}
	last := all[len(all)-1].Record.Seconds
	return write(&tap.Record{Seconds: last, Message: tap.Message{Type: tap.End}, EndNote: &end})
}

// ExportName returns the name of a file for the messages of a connection.
func ExportName(c *Connection, extension string) string {
	return fmt.Sprintf("%s-%d-%s.%s", c.lane, c.number, c.opened.Format(time.DateOnly), extension)
}
