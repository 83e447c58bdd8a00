import PealWire
