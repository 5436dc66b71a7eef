package remora

// EndLongWay ends the connections of rfp of a session, and leaves those beside them.
func EndLongWay(s *Session) {
	for i := range s.lanes {
		if conn := s.lanes[i].conn; conn != nil {
			conn.rfp.Disconnect()
		}
	}
}
