// Package agent lets one machine use the client processes of others: an agent on each of them
// starts client processes for a controller, and carries commands and answers between the two.
//
//	controller                     agent                      client process
//	+----------+      TCP       +-----------+      pipes      +------------+
//	| commands-+--------------->|  handshake, then lines  --->| stdin      |
//	|          |<---------------+-----------<---------------- | stdout     |
//	+----------+                +-----------+                 +------------+
//
// A connection is one client process. It begins with a handshake of three lines of JSON:
//
//	agent        greeting   protocol, version, a nonce
//	controller   hello      protocol, version, the run, a proof that it knows the token
//	agent        verdict    nothing, or why not
//
// Who can talk to an agent can have it send requests to any server that the machine reaches.
// So:
//
//	A1  It listens at loopback addresses, unless there is a token. The token is not sent: the
//	    proof is an HMAC of the nonce by it, and is compared in constant time.
//	A2  It parses nothing but a hello. What follows goes to a process of its own, which may
//	    crash or hang without harm to the agent.
//	A3  Lines, connections and the time of a handshake are bounded.
//	A4  One run at a time: a controller's connections have the same run; others are refused
//	    until these are gone.
//	A5  The process ends with its connection, however that ends: told, or killed when it does
//	    not listen; a controller whose machine is gone is noticed by keep-alives.
//	A6  Both are of the same version, or the controller is told what to do.
package agent
