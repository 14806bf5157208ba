package mcpserver

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// hostOnly is the name or address of a host with or without a port, "" if it is
// neither. The dot that ends an absolute name is left out.
func hostOnly(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return ""
		}
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok {
			return ""
		}
	}
	return strings.TrimSuffix(host, ".")
}

// allowedHost reports a loopback host or one of the list. Loopback names are safe
// from DNS rebinding: a page cannot make a browser send one for its own domain.
func allowedHost(host string, list []string) bool {
	name := hostOnly(host)
	return name != "" && (isLoopback(name) || slices.ContainsFunc(list, func(a string) bool {
		return strings.EqualFold(name, hostOnly(a))
	}))
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// allowedOrigin reports an origin on a loopback host or one of the list (RFC 6454).
func allowedOrigin(origin string, list []string) bool {
	for _, a := range list {
		if strings.EqualFold(origin, strings.TrimRight(a, "/")) {
			return true
		}
	}
	scheme, host, ok := strings.Cut(origin, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && isLoopback(hostOnly(host))
}

// unmapped returns the prefixes with IPv4 addresses that are written as IPv6 ones
// (RFC 4291, section 2.5.5.2) as what they are.
func unmapped(prefixes []netip.Prefix) []netip.Prefix {
	out := slices.Clone(prefixes)
	for i, p := range out {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			out[i] = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
	}
	return out
}

// trusted reports a peer on this machine or among the proxies. Nothing that a
// request says of itself (X-Forwarded-For and the like) is asked.
func trusted(remote string, proxies []netip.Prefix) bool {
	addr, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	ip := addr.Addr().Unmap().WithZone("")
	return ip.IsLoopback() || slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}
