package conformance_test

import (
	"image/png"
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

// The pictures of the page in README are small enough to be cloned with the source.
func TestPictureOfThePage(t *testing.T) {
	for _, name := range []string{"page.png", "gateway.png"} {
		f, err := os.Open(name)
		assert.NilError(t, err)
		defer f.Close()
		info, err := f.Stat()
		assert.NilError(t, err)
		assert.Assert(t, info.Size() <= 150<<10, "%s has %d bytes", name, info.Size())
		picture, err := png.Decode(f)
		assert.NilError(t, err)
		assert.Equal(t, picture.Bounds().Dx(), 1280, name)
	}
}
