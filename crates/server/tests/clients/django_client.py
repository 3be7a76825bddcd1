"""Django: migrations of its own applications, models with every kind of field, queries, transactions."""

import datetime
import decimal
import os
import sys
import uuid
from urllib.parse import urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import django
from django.conf import settings

url = urlsplit(sys.argv[1])
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django_backend",
            "NAME": url.path.lstrip("/"),
            "USER": url.username,
            "HOST": url.hostname,
            "PORT": url.port,
            "DISABLE_SERVER_SIDE_CURSORS": True,
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    TIME_ZONE="UTC",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Avg, Count, F, Max, OuterRef, Subquery, Sum
from django.db.models.functions import TruncDay


class Reading(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=50, db_index=True)
    value = models.FloatField(null=True)
    price = models.DecimalField(max_digits=10, decimal_places=3)
    at = models.DateTimeField()
    day = models.DateField(null=True)
    clock = models.TimeField(null=True)
    length = models.DurationField(null=True)
    data = models.JSONField(default=dict)
    raw = models.BinaryField(null=True)
    is_ok = models.BooleanField(default=True)
    pieces = models.PositiveIntegerField(default=0)

    class Meta:
        app_label = "air"
        constraints = [
            models.UniqueConstraint(fields=["name", "at"], name="reading_name_at"),
            models.CheckConstraint(condition=models.Q(value__lt=1000) | models.Q(is_ok=False), name="reading_value"),
        ]


call_command("migrate", verbosity=0)
with connection.schema_editor() as editor:
    editor.create_model(Reading)

start = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
rows = [
    Reading(
        id=uuid.UUID(int=i),
        name=f"n{i % 3}",
        value=i / 2,
        price=decimal.Decimal("1.250") * i,
        at=start + datetime.timedelta(hours=i),
        day=datetime.date(2024, 1, 1 + i % 5),
        clock=datetime.time(1, 2, 3, i),
        length=datetime.timedelta(days=1, seconds=i),
        data={"a": i, "b": [1, {"c": None}]},
        raw=bytes([i]),
    )
    for i in range(30)
]
assert len(Reading.objects.bulk_create(rows)) == 30
for row in rows:
    found = Reading.objects.get(id=row.id)
    for field in Reading._meta.fields:
        expected, value = (getattr(one, field.name) for one in (row, found))
        assert (bytes(value) if isinstance(value, memoryview) else value) == expected, (field.name, value, expected)

totals = Reading.objects.aggregate(Sum("price"), Avg("value"), Max("at"))
assert totals["price__sum"] == decimal.Decimal("543.750") and totals["value__avg"] == 7.25, totals
names = Reading.objects.values("name").annotate(count=Count("id")).order_by("name")
assert [(one["name"], one["count"]) for one in names] == [("n0", 10), ("n1", 10), ("n2", 10)], names
days = Reading.objects.annotate(start=TruncDay("at")).values("start").annotate(count=Count("*")).order_by("start")
assert [one["count"] for one in days] == [24, 6], days
assert Reading.objects.filter(data__a=3).count() == 1
assert Reading.objects.filter(data__contains={"a": 4}).count() == 1
assert Reading.objects.filter(name__icontains="N1", at__lt=start + datetime.timedelta(hours=5)).count() == 2
latest = Reading.objects.filter(name=OuterRef("name")).order_by("-at").values("price")[:1]
assert Reading.objects.filter(name="n0").annotate(latest=Subquery(latest)).first().latest == decimal.Decimal("33.750")
assert len(list(Reading.objects.iterator(chunk_size=7))) == 30
assert Reading.objects.filter(name="n1").update(value=F("value") + 1) == 10
try:
    with transaction.atomic():
        Reading.objects.create(name="new", price=1, at=start)
        try:
            with transaction.atomic():
                Reading.objects.create(name="n0", price=1, at=start)
            raise AssertionError("a key was broken")
        except IntegrityError:
            pass
        assert Reading.objects.filter(name="new").exists()
        raise ZeroDivisionError
except ZeroDivisionError:
    pass
assert not Reading.objects.filter(name="new").exists()
for values in [{"pieces": -1}, {"value": 1000}]:
    try:
        Reading.objects.create(name="new", price=1, at=start, **values)
        raise AssertionError("a check was broken")
    except IntegrityError:
        pass
Reading.objects.filter(name="n0").update(value=2000, is_ok=False)

user = User.objects.create_user("anna", "anna@example.org", "secret")
group = Group.objects.create(name="readers")
group.permissions.set(Permission.objects.all()[:3])
user.groups.add(group)
assert User.objects.get(username="anna").check_password("secret")
assert len(User.objects.get(username="anna").get_all_permissions()) == 3
assert User.objects.filter(groups__name="readers").count() == 1
assert Reading.objects.filter(name="n2").delete()[0] == 10
assert "auth_user" in connection.introspection.table_names()
print("done")
