"""Tables, figures, flow diagram, contact sheet, summary."""
