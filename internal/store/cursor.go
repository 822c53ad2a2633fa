package store

import "context"

// A Cursor reads a log from its beginning, or on from where it has read to. It is not safe for
// concurrent use.
type Cursor struct {
	Store Store
	Key   string

	read   bool  // Next has returned without an error
	number int64 // of the last event; 0: there was no log
}

// Next returns all events that have been added since its last call. gap reports that some may be
// missing: also because the log is gone, or because it has begun since the last call and may have
// removed events since then. After an error, the next call returns them.
func (c *Cursor) Next(ctx context.Context) (events []Event, gap bool, err error) {
	number := c.number
	hadNone := c.read && number == 0
	for {
		more, missing, err := c.Store.After(ctx, c.Key, number)
		if err != nil {
			return nil, false, err
		}
		if missing && len(more) == 0 {
			number = 0 // the log is gone: a new one has other numbers
		}
		gap = gap || missing || hadNone && len(more) > 0
		if len(more) == 0 {
			c.read, c.number = true, number
			return events, gap, nil
		}
		events, number = append(events, more...), more[len(more)-1].Number
	}
}
