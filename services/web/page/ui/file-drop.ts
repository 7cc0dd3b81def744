import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'

/** For an element that takes files. While some are dragged over it, it says so. */
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
