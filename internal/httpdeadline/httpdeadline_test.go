package httpdeadline_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/httpdeadline"
)

func TestPace(t *testing.T) {
	for _, test := range []struct {
		size         int
		after        time.Duration // of the write of a piece, from the start
		wantDeadline time.Duration // from the start
	}{
		{0, 0, 30 * time.Second},
		{32 << 10, 10 * time.Second, 31 * time.Second},
		{1 << 20, 0, 30 * time.Second},
		{1 << 20, 20 * time.Second, 50 * time.Second},
		{1 << 20, 50 * time.Second, 62 * time.Second},
		{1 << 30, 110 * time.Second, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			pace := httpdeadline.NewPace(test.size, start)
			time.Sleep(test.after)
			assert.Equal(t, pace.Deadline().Sub(start), test.wantDeadline)
		})
	}
}

// recorder records the sizes of writes and the deadlines that were set before them.
type recorder struct {
	*httptest.ResponseRecorder
	deadlines, sizes int
}

func (r *recorder) SetWriteDeadline(time.Time) error { r.deadlines++; return nil }

func (r *recorder) Write(text []byte) (int, error) {
	r.sizes = max(r.sizes, len(text))
	return r.ResponseRecorder.Write(text)
}

func TestEachPieceHasADeadline(t *testing.T) {
	r := &recorder{ResponseRecorder: httptest.NewRecorder()}
	size := 3*httpdeadline.PieceSize + 1
	n, err := httpdeadline.NewWriter(r, size, 0).Write(make([]byte, size))
	assert.NilError(t, err)
	assert.Equal(t, n, size)
	assert.Equal(t, r.deadlines, 4)
	assert.Equal(t, r.sizes, httpdeadline.PieceSize)
	assert.Equal(t, r.Body.Len(), size)
}

func TestBodyWithoutContentHasNoDeadline(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	assert.Equal(t, httpdeadline.SetBody(httptest.NewRecorder(), r), time.Duration(0))
}
