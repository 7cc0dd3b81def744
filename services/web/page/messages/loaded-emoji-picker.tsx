import { LoadedDialog } from '../app/loaded-dialog.tsx'
import { createPart } from '../app/part.ts'
import { loadEmoji } from '../emoji/emoji.ts'
import type { EmojiPickerProps } from './emoji-picker.tsx'

const part = createPart(() => {
  void loadEmoji()
  return import('./emoji-picker.tsx')
})

/** The dialog to choose an emoji. Its code and the list of emoji are loaded at the same time, when it is first opened. */
export const LoadedEmojiPicker = (props: EmojiPickerProps) => (
  <LoadedDialog
    name={props.name}
    part={part}
    onClose={props.onClose}
    render={({ EmojiPicker }) => <EmojiPicker {...props} />}
  />
)
