package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/dispatch/cli"
	"github.com/stdwire/stdwire/server"
)

// A Bill is the input of both operations.
type Bill struct {
	Customer string `json:"customer" doc:"Who pays."`
	Amount   int    `json:"amount" doc:"In cents." min:"1"`
}

// A Receipt is the result of a payment.
type Receipt struct {
	Number int `json:"number"`
}

const (
	GateBilling   dispatch.Gate = "billing"
	QuotaExceeded dispatch.Code = "quota_exceeded"
)

// catalog returns a catalog of a read operation, and of one that has a gate and a code of the
// application.
func catalog(gates ...dispatch.Gate) *dispatch.Catalog {
	c := dispatch.NewCatalog(gates...)
	if err := c.Declare(
		dispatch.CodeInfo{Code: QuotaExceeded, HTTPStatus: 429, ExitCode: 5,
			Summary: "The customer's limit is reached."}); err != nil {
		log.Fatal(err)
	}
	dispatch.Add(c, dispatch.Spec{Name: "bill.quote", Summary: "Say what a bill comes to.",
		Type: dispatch.Read},
		func(_ context.Context, b Bill) (string, error) {
			return fmt.Sprintf("%s: %d.%02d", b.Customer, b.Amount/100, b.Amount%100), nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "bill.charge", Summary: "Charge a customer.",
		Type: dispatch.Destructive, Gate: GateBilling, Errors: []dispatch.Code{QuotaExceeded}},
		func(_ context.Context, b Bill) (Receipt, error) {
			if b.Amount > 10000 {
				return Receipt{},
					dispatch.Errorf(QuotaExceeded, "%s may be charged 100.00 a day", b.Customer)
			}
			return Receipt{Number: 1}, nil
		})
	return c
}

// One catalog, with a code and a gate of the application, on three surfaces. Each surface takes one
// line.
func Example_application() {
	c := catalog(GateBilling)
	d := dispatch.Options{}.New(c)
	switch strings.Join(os.Args[1:min(2, len(os.Args))], "") {
	case "mcp":
		log.Fatal(server.New(server.Info{Name: "billing", Version: "1.0.0"},
			c).ServeStdio(context.Background()))
	case "http":
		log.Fatal(http.ListenAndServe("127.0.0.1:8080", api.Options{}.New(d)))
	}
	cli.Run(context.Background(), d,
		[]string{"bill", "charge", "--customer", "Ada", "--amount", "2000000", "--yes"},
		cli.IO{Program: "billing", Out: os.Stdout, Err: os.Stdout})
	over := httptest.NewServer(api.Options{}.New(d))
	defer over.Close()
	response, err := http.Post(over.URL+"/v1/bill", "application/json",
		strings.NewReader(`{"action":"quote","params":{"customer":"Ada","amount":1250}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(os.Stdout, response.Body)
	// Output:
	// billing: bill charge: quota_exceeded: Ada may be charged 100.00 a day
	// {"success":true,"data":"Ada: 12.50","error":null}
}
