package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"

	apierrors "github.com/postern-mcp/postern/errors"
)

// failure turns what went wrong into the error of the envelope, by where the
// request was and not by what the error says: foreign texts hold URLs.
func (c *Call) failure(ctx, caller context.Context, err error) *apierrors.Error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapper spells out the URL with its query
	}
	e := c.classify(ctx, caller, err)
	if broken, ok := errors.AsType[*bodyError](err); ok {
		e.Status = broken.status // tells a writer that it succeeded
		c.answer.Body, c.answer.Truncated = broken.data, true
	}
	if e.Status == 0 && c.trace.answered {
		e.Status = c.status // of the answer after which the wait was given up
	}
	if e.Unwrap() == nil && !errors.Is(err, e) {
		e.WithCause(err)
	}
	e.Attempts, e.Delivery = c.trace.attempts, c.trace.delivery()
	if e.Delivery == apierrors.Unknown {
		e.IdempotencyKey = c.answer.IdempotencyKey
	}
	return e
}

func (c *Call) classify(ctx, caller context.Context, err error) *apierrors.Error {
	if own, ok := errors.AsType[*apierrors.Error](err); ok {
		return own
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return apierrors.New(apierrors.Canceled, "the call was canceled before its answer was complete")
	case caller.Err() != nil:
		return apierrors.New(apierrors.Timeout, "no complete answer from "+c.up.address+" before the caller's deadline")
	case ctx.Err() != nil:
		return apierrors.New(apierrors.Timeout, "no complete answer from "+c.up.address+" within "+c.up.conf.Timeout.String())
	}
	if broken, ok := errors.AsType[*bodyError](err); ok {
		return brokenAnswer("the answer from " + c.up.address + " " + broken.what())
	}
	switch {
	case !c.trace.connected:
		e := apierrors.New(apierrors.NetworkError, "cannot connect to "+c.up.address+": "+cause(err))
		e.Hint = "This is for the operator of the gateway, not a matter of the arguments."
		return e
	case c.trace.begun.Load():
		return brokenAnswer("the answer from " + c.up.address + " is not valid HTTP")
	case isTimeout(err):
		return apierrors.New(apierrors.Timeout, "no answer from "+c.up.address+" in time")
	}
	return apierrors.New(apierrors.NetworkError, "the connection to "+c.up.address+" broke before an answer: "+cause(err))
}

// brokenAnswer may be different next time, unlike other invalid responses.
func brokenAnswer(message string) *apierrors.Error {
	e := apierrors.New(apierrors.InvalidResponse, message)
	e.Retryable = true
	return e
}

func (e *bodyError) what() string {
	_, network := errors.AsType[net.Error](e.err)
	if network || errors.Is(e.err, io.ErrUnexpectedEOF) {
		return "was truncated after " + strconv.Itoa(len(e.data)) + " bytes"
	}
	return "could not be decoded after " + strconv.Itoa(len(e.data)) + " bytes"
}

// cause says in a few words why there is no connection. Only texts that are
// known to hold no URL are used.
func cause(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return "the host name does not resolve"
		}
		return "the host name cannot be looked up"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "proxyconnect" {
		return "the proxy in between: " + cause(e.Err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an unknown authority"
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e.Err.Error()
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return "it does not speak TLS"
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return e.Error()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	switch {
	case isTimeout(err):
		return "timed out"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the other side closed it"
	}
	return "the connection failed"
}
