/** Grey lines in place of data that is on its way. */
export const Skeleton = ({ lines = 3 }: { lines?: number }) => (
  <div class="skeleton" aria-hidden="true">
    {Array.from({ length: lines }, (_, at) => (
      <span key={at} />
    ))}
  </div>
)
