package jsonexact_test

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

func ExampleUnmarshal() {
	var place struct {
		City string `json:"city"`
		Near []struct {
			City string `json:"city"`
		} `json:"near"`
	}
	fmt.Println(jsonexact.Unmarshal([]byte(`{"City":"Bergen","city":"Oslo"}`), &place), place.City)

	err := jsonexact.Unmarshal([]byte(`{"near":[{"city":"Oslo","city":"Bergen"}]}`), &place)
	fmt.Println(err)
	fmt.Println(err.(*jsonexact.DecodeError).Pointer())
	// Output:
	// <nil> Oslo
	// near[0].city: the key occurs twice (at byte 31)
	// /near/0/city
}

func ExampleAppend() {
	b, err := jsonexact.Append([]byte("data: "), map[int][]string{2: nil, 1: {"<b>"}})
	fmt.Printf("%s %v\n", b, err)
	// Output: data: {"1":["<b>"],"2":null} <nil>
}
