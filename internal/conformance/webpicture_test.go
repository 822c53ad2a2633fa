package conformance_test

import (
	"image/png"
	"os"
	"testing"

	"gotest.tools/v3/assert"
)

// The picture of the page in README is small enough to be cloned with the source.
func TestPictureOfThePage(t *testing.T) {
	f, err := os.Open("page.png")
	assert.NilError(t, err)
	defer f.Close()
	info, err := f.Stat()
	assert.NilError(t, err)
	assert.Assert(t, info.Size() <= 150<<10, "%d bytes", info.Size())
	picture, err := png.Decode(f)
	assert.NilError(t, err)
	assert.Equal(t, picture.Bounds().Dx(), 1280)
}
