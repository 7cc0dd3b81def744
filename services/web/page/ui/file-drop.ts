import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'

/** The properties of an element on which files can be dropped. While files are dragged over it, it shows a hint. */
export function useFileDrop(onFiles: (files: FileList | undefined) => void) {
  const isOver = useSignal(false)
  return {
    'data-dropping': isOver.value ? t('Drop the files to attach them') : undefined,
    onDragOver: (event: DragEvent) => {
      event.preventDefault()
      isOver.value = event.dataTransfer?.types.includes('Files') ?? false
    },
    onDragLeave: ({ currentTarget, relatedTarget }: DragEvent) => {
      isOver.value &&= (currentTarget as Element).contains(relatedTarget as Node | null)
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      isOver.value = false
      onFiles(event.dataTransfer?.files)
    },
  }
}
