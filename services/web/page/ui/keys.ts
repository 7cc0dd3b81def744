const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The label of the modifier key of shortcuts. */
export const modifierKey = isApple ? '⌘' : 'Ctrl'
