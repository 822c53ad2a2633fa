package store

import "context"

// A Cursor reads a log from its begin, or on from where it has read to. It is not safe for
// concurrent use.
type Cursor struct {
	Store Store
	Key   string

	number int64
}

// Next returns all events that have been added since its last call. gap reports that some may be
// missing, also because the log is gone. After an error, the next call returns them.
func (c *Cursor) Next(ctx context.Context) (events []Event, gap bool, err error) {
	number := c.number
	for {
		more, missing, err := c.Store.After(ctx, c.Key, number)
		if err != nil {
			return nil, false, err
		}
		if gap = gap || missing; missing && len(more) == 0 {
			number = 0 // the log is gone: a new one has other numbers
		}
		if len(more) == 0 {
			c.number = number
			return events, gap, nil
		}
		events, number = append(events, more...), more[len(more)-1].Number
	}
}
