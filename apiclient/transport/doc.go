// Package transport sends a gateway's requests to the one REST API behind it.
//
// A generated client builds a request, a [Call] decides what of it leaves:
//
//	up, err := transport.New(transport.Config{BaseURL: base})
//	...
//	call := up.NewCall(token, &readTrigger)   // one per tool call
//	client := apiclient.Client{Server: up.BaseURL(), Doer: call}
//	if _, err := client.ReadTrigger(ctx, project, name); err != nil {
//		return err // an *apierrors.Error, complete with delivery and attempts
//	}
//	answer := call.Answer() // any status; the body is read and bounded
//
// Each step has one purpose and one file. Those above the line run once for
// a call, before anything is dialled; those below once for each attempt:
//
//	request of the generated client
//	  │ check.go       the operator's origin, the operation's own path (match.go)
//	  │ headers.go     an allow-list
//	  │ credential.go  the caller's token, bound to the origin
//	  ▼
//	retry.go           go-retryablehttp with our own policy ◄─┐
//	──┼───────────────────────────────────────────────────────┤
//	  │ limits.go      the whole body, up to the limit        │
//	  │ trace.go       how far the attempt got (conn.go)      │
//	  ▼                                                       │
//	http.Transport     one pool for all callers ──────────────┘
//
// What goes wrong becomes an envelope in failure.go. Redirects are never
// followed, and nothing here prints a token (token.go), a query or a body.
package transport
