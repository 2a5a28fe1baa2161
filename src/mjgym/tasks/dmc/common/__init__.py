"""What several domains of the suite share, and the best policy of one of them."""
