package quota_test

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/quota"
)

func Example() {
	places := quota.NewPool(8)
	for places.Take("ada", 1) == nil {
	}
	fmt.Println("ada holds", places.Held("ada"))
	fmt.Println("ben:", places.Take("ben", 1))
	fmt.Println("ada:", places.Take("ada", 1))
	// Output:
	// ada holds 4
	// ben: <nil>
	// ada: quota: the owner holds its share
}
