package urlelicitation

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/ondemand"
)

// Of a flood of completions, the table keeps the latest, and as many for the callback.
func TestFlood(t *testing.T) {
	table := NewTable(&ondemand.Task{Start: func(func()) {}})
	for i := range 3 * maxElicitations {
		id := fmt.Sprint("id ", i)
		table.MarkRequested(id)
		table.Put(fmt.Appendf(nil, `{"elicitationId":%q}`, id))
	}
	assert.Equal(t, len(table.all), maxElicitations)
	assert.Equal(t, len(table.order), maxElicitations)
	assert.Equal(t, len(table.Take()), maxElicitations)
	assert.Equal(t, len(table.Take()), 0)
}
