enum PealDeliveryPlaceholder {}
