const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The label of the modifier key of shortcuts. */
export const modifierKey = isApple ? '⌘' : 'Ctrl'

/**
 * Whether a key belongs to an input method, such as the Enter that confirms Japanese text. Safari sends that Enter when the composition has
 * ended already, so it can be recognised only by the key code 229.
 */
export const isOfInputMethod = ({ isComposing, keyCode }: KeyboardEvent) => isComposing || keyCode === 229
